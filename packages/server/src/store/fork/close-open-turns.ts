/**
 * `closeOpenTurn` ends the open parts of the running turn of a fork, and `closeRequests` closes pending requests
 * of any turn.
 *
 * Invariant: the order is that of a stop. Requests come first, then sub-runs from the inside out, the main run's
 * blocks, the group, the run and the turn. Every tool call gets a result. Blocks, runs and turns that have ended don't
 * change.
 */
import {
  type Block,
  listBlocks,
  findTurn,
  type InteractionBlock,
  isPending,
  type Run,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { type EventDraft, isRequest, outlivesTurn, TRANSITIONS } from "@turnstream/protocol/writer";

interface Writer {
  readonly state: SessionState;
  readonly at: number;
  add(draft: EventDraft): void;
}

/** Closes the pending requests of a turn, whether the turn has ended or not. */
export function closeRequests(writer: Writer, turn: Turn): void {
  for (const block of listBlocks(turn)) {
    if (!("version" in block) || !isRequest(block) || !isPending(block)) continue;
    // What can't be cancelled any more, because a provider deals with it, can only expire.
    const canCancel = TRANSITIONS[block.kind][block.status]?.includes("cancelled") === true;
    change(writer, turn, block, canCancel ? "cancelled" : "expired");
  }
}

export function closeOpenTurn(writer: Writer, id: string): void {
  const turn = (): Turn => findTurn(writer.state, id) as Turn;
  for (const block of listBlocks(turn()))
    if ("version" in block && isPending(block)) change(writer, turn(), block, "cancelled");
  const [first] = turn().runs;
  if (first === undefined)
    writer.add({ type: "run.start", turn: id, run: `${id}/main`, agent: turn().agent });
  closeRuns(writer, turn, null);
  const { group, started_at, items } = turn();
  const main = turn().runs.find((run) => run.parent === null);
  if (main?.status === "running") {
    if (group !== null)
      writer.add({ type: "group.end", turn: id, run: main.id, group, index: items.length, summary: "" });
    if (listBlocks(turn()).at(-1)?.kind !== "notice")
      writer.add({
        type: "notice.stopped",
        ...newPlace(turn(), main.id),
        text: "",
        template: { code: "STOPPED" },
      });
    const status = lastNotice(turn()) === "error" ? "failed" : "cancelled";
    writer.add({ type: "run.end", turn: id, run: main.id, status });
  }
  const duration_ms = Math.max(0, writer.at - started_at);
  writer.add({ type: "turn.end", turn: id, reason: reasonOf(turn()), duration_ms });
}

/** If the main run has already ended, the turn ends with the reason that the run had determined. */
function reasonOf(turn: Turn): "user_stopped" | "error" | "requires_interaction" | "end_turn" {
  const notice = lastNotice(turn);
  if (notice !== null) return notice === "stopped" ? "user_stopped" : "error";
  const asks = listBlocks(turn).some((block) => "version" in block && outlivesTurn(block));
  return asks ? "requires_interaction" : "end_turn";
}

function lastNotice(turn: Turn): "stopped" | "error" | null {
  const last = listBlocks(turn).at(-1);
  return last?.kind === "notice" ? last.notice : null;
}

function change(writer: Writer, turn: Turn, block: InteractionBlock, status: "cancelled" | "expired"): void {
  const type = `${block.kind}.update` as const;
  writer.add({ type, ...on(turn, block), version: block.version + 1, status } as EventDraft);
}

/** Closes the runs below `parent` and their blocks, before the results that contain them. The main run stays open. */
function closeRuns(writer: Writer, turn: () => Turn, parent: string | null): void {
  for (const run of turn().runs.filter((r) => r.parent === parent && r.status === "running")) {
    closeRuns(writer, turn, run.id);
    for (const block of listBlocks(turn()))
      if (block.run === run.id && block.end === null) end(writer, turn(), block);
    answerCalls(writer, turn, run);
    if (parent !== null) writer.add({ type: "run.end", turn: turn().id, run: run.id, status: "cancelled" });
  }
}

/** Adds a cancelled result for every call without one, because every call must have a result. */
function answerCalls(writer: Writer, turn: () => Turn, run: Run): void {
  const answered = new Set(listBlocks(turn()).flatMap((b) => (b.kind === "tool_result" ? [b.call] : [])));
  for (const block of listBlocks(turn())) {
    if (block.kind !== "tool_call" || block.run !== run.id || answered.has(block.call)) continue;
    const { call, name, label, hidden } = block;
    const place = newPlace(turn(), run.id);
    writer.add({ type: "tool_result.start", ...place, call, name, label, ...(hidden ? { hidden } : {}) });
    writer.add({ type: "tool_result.end", ...place, status: "cancelled", preview: "", artifact: null });
  }
}

function end(writer: Writer, turn: Turn, block: Block): void {
  const at = on(turn, block);
  if (block.kind === "thinking") writer.add({ type: "thinking.end", ...at });
  if (block.kind === "text") writer.add({ type: "text.end", ...at, final: false });
  if (block.kind === "tool_call") writer.add({ type: "tool_call.end", ...at, aborted: true });
  if (block.kind === "files") writer.add({ type: "files.end", ...at, status: "failed", message: "" });
  if (block.kind === "tool_result")
    writer.add({ type: "tool_result.end", ...at, status: "cancelled", preview: "", artifact: null });
}

function on(turn: Turn, block: Block): { turn: string; run: string; block: string; index: number } {
  return { turn: turn.id, run: block.run, block: block.id, index: block.index };
}

/** Returns the position of the run's next block, with an id that is unused in the turn. */
function newPlace(turn: Turn, run: string): { turn: string; run: string; block: string; index: number } {
  const index = turn.items.length;
  const taken = new Set(turn.items.toArray().map((item) => item?.id));
  let block = `fork-${index}`;
  while (taken.has(block)) block += "-";
  return { turn: turn.id, run, block, index };
}
