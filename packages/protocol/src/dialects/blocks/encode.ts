/**
 * `encodeBlocks` encodes canonical events as frames of the `blocks` dialect, and `eachResyncFrame` replays missed
 * turns.
 * Invariant: the encoder has no state besides the folded session. An event that does not change the state has no
 * frames. Indexes on the wire follow `shown`, so they increase. A resync has its cursor on the last frame only.
 */
import { formatCursor } from "../../cursor.ts";
import type { SessionEvent } from "../../events/index.ts";
import { endsAll, showsHalf } from "../../fold/block.ts";
import { blockAt, findTurn } from "../../fold/edit.ts";
import { fold } from "../../fold/fold.ts";
import { interactionId } from "../../fold/interaction.ts";
import {
  type Block,
  type GroupEnd,
  type GroupStart,
  type InteractionBlock,
  type Item,
  isBlock,
  listBlocks,
  type UserMessage,
  type SessionState,
  type Turn,
} from "../../state.ts";
import { leftRunning } from "../../turn-queries.ts";
import type { Encoded } from "../dialect.ts";
import { withCursor } from "../with-cursor.ts";
import { actionRequest } from "../interactions.ts";
import { contentDeltas, contentStart } from "./content.ts";
import type { BlocksFrame, BlocksFrameOf } from "./frames.ts";

export function encodeBlocks(
  before: SessionState,
  event: SessionEvent,
  after: SessionState = fold(before, event),
): Encoded<SessionState, BlocksFrame> {
  return { encoder: after, frames: withCursor(framesOf(before, event, after), event.id) };
}

/**
 * Yields the frames that bring a client up to date that missed everything after `since`. Such a client can only
 * append, but it clears a turn at `message_start`. A server can serve other connections between two frames.
 * The frames replay every turn that changed, and then update interactions of other turns.
 */
export function* eachResyncFrame(state: SessionState, since: number): Generator<BlocksFrame> {
  let previous: BlocksFrame | null = null;
  for (const frame of missedFrames(state, since)) {
    if (previous !== null) yield previous;
    previous = frame;
  }
  if (previous !== null) yield* withCursor([previous], formatCursor(state));
}

function* missedFrames(state: SessionState, since: number): Generator<BlocksFrame> {
  if (state.title !== null) yield { type: "session_title", session_id: state.session, title: state.title };
  for (const turn of state.turns) {
    if (turn.start > since && turn.message !== null) yield userMessage(turn.message);
    if (turn.end === null || turn.end > since) yield* turnFrames(state, turn);
    else {
      const changed = listBlocks(turn).filter(
        (b): b is InteractionBlock => "version" in b && b.changed > since,
      );
      for (const block of changed) yield* updateFrames(turn, block);
    }
  }
  for (const message of state.waiting) yield userMessage(message);
}

function userMessage(message: UserMessage): BlocksFrame {
  const content_urls = message.files.map((file) => file.url);
  return { type: "user_message", user_message_id: message.id, text: message.text, content_urls };
}

function framesOf(before: SessionState, event: SessionEvent, after: SessionState): BlocksFrame[] {
  switch (event.type) {
    case "session.update":
      return before === after
        ? []
        : [{ type: "session_title", session_id: after.session, title: event.title }];
    case "message.add": {
      const added = after.waiting.at(-1);
      return before.waiting === after.waiting || added === undefined ? [] : [userMessage(added)];
    }
    case "message.remove":
    case "session.start":
      return [];
    default: {
      const turn = event.turn === null ? undefined : findTurn(after, event.turn);
      const was = event.turn === null ? undefined : findTurn(before, event.turn);
      // Events that don't change the state produce no frames.
      if (turn === undefined || turn === was) return [];
      const left = event.type === "turn.start" ? leftRunning(before, after) : null;
      const last = left === null ? [] : [...cutShort(left.was, left.turn), ...endFrames(left.turn)];
      const cut = was === undefined || !endsAll(event) ? [] : cutShort(was, turn);
      return [...last, ...cut, ...turnEventFrames(after, turn, event)];
    }
  }
}

function turnEventFrames(state: SessionState, turn: Turn, event: SessionEvent): BlocksFrame[] {
  switch (event.type) {
    case "turn.start":
      return [messageStart(state, turn)];
    case "turn.end":
      return endFrames(turn);
    case "turn.takeover":
      return [...turnFrames(state, turn)];
    case "group.start":
    case "group.end":
      return markerFrames(turn, event.index);
    default: {
      if (!("block" in event)) return [];
      const block = blockAt(turn, event.index, event.block);
      return block === undefined || block.shown === null ? [] : blockEventFrames(turn, block, event);
    }
  }
}

/** Frames for blocks and interactions that a notice or the end of the turn closed, because their writer did not. */
function cutShort(was: Turn, turn: Turn): BlocksFrame[] {
  return listBlocks(turn).flatMap((block) => {
    const old = blockAt(was, block.index, block.id);
    if (old === undefined || old === block || block.shown === null) return [];
    if ("version" in block) return updateFrames(turn, block);
    return old.end === null && block.aborted && showsHalf(block.kind) ? [stopFrame(turn, block)] : [];
  });
}

function messageStart(state: SessionState, turn: Turn): BlocksFrame {
  return {
    type: "message_start",
    session_id: state.session,
    timestamp: turn.started_at / 1000,
    display_mode: turn.mode,
    is_new_session_from_share: turn.from_share,
    ...(turn.message === null ? {} : { user_message_id: turn.message.id }),
    message_id: turn.id,
  };
}

function endFrames(turn: Turn): BlocksFrame[] {
  const stop_reason = turn.status === "running" ? "end_turn" : turn.status;
  return [
    { type: "message_delta", message_id: turn.id, delta: { stop_reason } },
    { type: "message_stop", message_id: turn.id, duration_ms: turn.duration_ms ?? 0 },
  ];
}

/**
 * The position of an item on the wire. Indexes follow `shown`, so they increase even if results end in another order
 * than they started.
 */
function onWire(turn: Turn, item: Item): { message_id: string; index: number } {
  return { message_id: turn.id, index: item.shown ?? item.index };
}

function markerFrames(turn: Turn, index: number): BlocksFrame[] {
  const marker = turn.items.get(index);
  if (marker?.kind === "group_start") return [{ type: "group_start", ...onWire(turn, marker) }];
  if (marker?.kind !== "group_end") return [];
  return [{ type: "group_end", ...onWire(turn, marker), summary: marker.summary }];
}

function startFrame(turn: Turn, block: Block): BlocksFrame {
  return { type: "content_block_start", ...onWire(turn, block), content_block: contentStart(turn, block) };
}

function deltaFrame(
  turn: Turn,
  block: Block,
  delta: BlocksFrameOf<"content_block_delta">["delta"],
): BlocksFrame {
  return { type: "content_block_delta", ...onWire(turn, block), delta };
}

function stopFrame(turn: Turn, block: Block): BlocksFrame {
  const is_final = block.kind === "text" ? { is_final: block.final } : {};
  return { type: "content_block_stop", ...onWire(turn, block), ...is_final };
}

/** Returns the start of a block and its content so far. */
function soFar(turn: Turn, block: Block): BlocksFrame[] {
  return [startFrame(turn, block), ...contentDeltas(block).map((delta) => deltaFrame(turn, block, delta))];
}

function blockEventFrames(turn: Turn, block: Block, event: SessionEvent): BlocksFrame[] {
  switch (event.type) {
    case "thinking.start":
    case "text.start":
    case "files.start":
      return [startFrame(turn, block)];
    case "thinking.delta":
      return [deltaFrame(turn, block, { type: "thinking_delta", thinking: event.text })];
    case "text.delta": {
      const annotations = event.annotations === undefined ? {} : { annotations: event.annotations };
      return [deltaFrame(turn, block, { type: "text_delta", text: event.text, ...annotations })];
    }
    case "files.delta":
      return contentDeltas(block).map((delta) => deltaFrame(turn, block, delta));
    case "files.end":
      return [...contentDeltas(block).map((delta) => deltaFrame(turn, block, delta)), stopFrame(turn, block)];
    case "thinking.end":
    case "text.end":
      return [stopFrame(turn, block)];
    case "tool_call.end":
    case "tool_result.end":
    case "notice.stopped":
    case "notice.error":
    case "approval.request":
    case "question.request":
    case "form.request":
    case "payment.request":
      return [...soFar(turn, block), stopFrame(turn, block)];
    case "approval.update":
    case "question.update":
    case "form.update":
    case "payment.update":
      return "version" in block ? updateFrames(turn, block) : [];
    default:
      return [];
  }
}

/** Returns the update of an interaction, or nothing while it is unchanged since its request. */
function updateFrames(turn: Turn, block: InteractionBlock): BlocksFrame[] {
  if (block.version === 0 && block.status === "pending") return [];
  const { version } = block;
  const common = {
    ...onWire(turn, block),
    version,
    ...(block.reason === null ? {} : { reason: block.reason }),
  };
  if (block.kind === "form" || block.kind === "payment") {
    const { kind: interaction_type, status } = block;
    const interaction_id = interactionId(block);
    const values = block.kind === "form" && block.values !== null ? { values: block.values } : {};
    return [{ type: "interaction_update", ...common, interaction_type, interaction_id, status, ...values }];
  }
  const { key: approval_key, status } = block;
  if (status === "pending") return [];
  const edited =
    block.kind === "approval" && block.edited !== null
      ? { action_requests: block.edited.map(actionRequest) }
      : {};
  const always = block.kind === "approval" && block.always ? { always: true as const } : {};
  const answers = block.kind === "question" && block.answers !== null ? { answers: block.answers } : {};
  return [{ type: "approval_result", ...common, approval_key, status, ...edited, ...always, ...answers }];
}

/**
 * Returns the items of a turn that these clients have received, in the order of their completion. Blocks sort by the
 * position of their end, markers by their own position. Open blocks come last.
 */
export function shownItems(turn: Turn): (Block | GroupStart | GroupEnd)[] {
  const items = turn.items.toArray().filter(isShownItem);
  return items.toSorted((a, b) =>
    wholeAt(a) < wholeAt(b) ? -1 : wholeAt(a) > wholeAt(b) ? 1 : a.index - b.index,
  );
}

function wholeAt(item: Block | GroupStart | GroupEnd): number {
  return "end" in item ? (item.end ?? Infinity) : item.start;
}

function isShownItem(item: Item | null): item is Block | GroupStart | GroupEnd {
  return item !== null && item.kind !== "superseded" && item.shown !== null;
}

/** Replays the turn: starts and stops in their original order, all deltas of a block merged into one. */
function* turnFrames(state: SessionState, turn: Turn): Generator<BlocksFrame> {
  const scheduled: { at: number; frames: () => BlocksFrame[] }[] = [];
  for (const item of turn.items.toArray().filter(isShownItem)) {
    if (!isBlock(item)) scheduled.push({ at: item.start, frames: () => markerFrames(turn, item.index) });
    else if (showsHalf(item.kind)) {
      scheduled.push({ at: item.start, frames: () => soFar(turn, item) });
      if (item.end !== null) scheduled.push({ at: item.end, frames: () => [stopFrame(turn, item)] });
    } else {
      const update = (): BlocksFrame[] => ("version" in item ? updateFrames(turn, item) : []);
      scheduled.push({
        at: item.end ?? item.start,
        frames: () => [...soFar(turn, item), stopFrame(turn, item), ...update()],
      });
    }
  }
  yield messageStart(state, turn);
  for (const { frames } of scheduled.toSorted((a, b) => a.at - b.at)) yield* frames();
  if (turn.status !== "running") yield* endFrames(turn);
}
