/**
 * `EventWriter` writes canonical events for a decoder: it assigns positions and folds each event, so that the decoder
 * can query the state so far.
 * Invariant: a writer belongs to one `decode` call and is never shared. Its positions have no gaps, and only a takeover
 * increases the epoch. Methods that start something do nothing if it already exists.
 */
import {
  type Block,
  findRun,
  findToolCall,
  findToolResult,
  findTurn,
  fold,
  isBlock,
  listBlocks,
  mainRun,
  SCHEMA_VERSION,
  type SessionEvent,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { type EventDraft, findSubAgentRun, mainRunStatus } from "@turnstream/protocol/writer";
import type { Decoding } from "./decoder.ts";

/** How many items back `findRecent` looks for a repeated block. */
const RECENT = 64;

export class EventWriter {
  readonly events: SessionEvent[] = [];
  state: SessionState;
  at: number;

  constructor(from: Decoding) {
    this.state = from.state;
    this.at = from.at;
  }

  write(draft: EventDraft): void {
    const epoch = draft.type === "turn.takeover" ? this.state.epoch + 1 : Math.max(1, this.state.epoch);
    const event = {
      v: SCHEMA_VERSION,
      id: `${epoch}-${this.state.seq + 1}`,
      at: this.at,
      ...draft,
    } as SessionEvent;
    this.events.push(event);
    this.state = fold(this.state, event);
  }

  turn(id: string): Turn | undefined {
    return findTurn(this.state, id);
  }

  /** Returns the index and id of the next block of a turn. */
  next(turn: string): { turn: string; block: string; index: number } {
    const index = this.turn(turn)?.items.length ?? 0;
    return { turn, block: `${turn}/${index}`, index };
  }

  session(session: string, number: number): void {
    if (this.state.session === "") this.write({ type: "session.start", session, number });
  }

  /** Starts a turn and its main run if they don't exist. */
  begin(
    id: string,
    agent: string,
    more: { mode?: "agent" | "chat"; from_share?: boolean; model?: string; message?: string | null } = {},
  ): void {
    if (this.turn(id) !== undefined) return;
    const number = this.state.turns.length + 1;
    // Servers that don't name the message of a turn answer messages in order.
    const message = more.message === undefined ? (this.state.waiting[0]?.id ?? null) : more.message;
    const answers = message === null ? {} : { message };
    const { mode = "agent", from_share = false, model } = more;
    const turn = { turn: id, number, message_number: number, agent, mode, from_share, ...answers };
    this.write({ type: "turn.start", ...turn, ...(model === undefined ? {} : { model }) });
    this.write({ type: "run.start", turn: id, run: id, agent });
  }

  /** Returns the sub-agent run under a call. A new run starts inside the result of the call. */
  subRun(turnId: string, call: string, agent: string): string {
    const turn = this.turn(turnId);
    const known = turn === undefined ? undefined : findSubAgentRun(turn, call);
    if (turn === undefined || known !== undefined) return known?.id ?? call;
    // A run of that name can exist as a superseded one.
    const run = findRun(turn, call) === undefined ? call : `${call}/${turn.runs.length}`;
    const parent = findToolCall(turn, call)?.run ?? turnId;
    this.openResult(turnId, call);
    this.write({ type: "run.start", turn: turnId, run, parent, call, agent });
    return run;
  }

  /** Starts the result of a call if it has none. `seen` supplies the fields if the call itself was not received. */
  openResult(turnId: string, call: string, seen: { run?: string; name?: string; label?: string } = {}): void {
    const turn = this.turn(turnId);
    if (turn === undefined || findToolResult(turn, call) !== undefined) return;
    const caller = findToolCall(turn, call);
    const { run = caller?.run ?? turnId } = seen;
    const tool = { call, name: seen.name ?? caller?.name ?? "", label: seen.label ?? caller?.label ?? "" };
    const hidden = caller?.hidden === true ? { hidden: true } : {};
    this.write({ type: "tool_result.start", ...this.next(turnId), run, ...tool, ...hidden });
  }

  /** Returns the result of a call while it is open. */
  openResultOf(turnId: string, call: string): Block | undefined {
    const turn = this.turn(turnId);
    const result = turn === undefined ? undefined : findToolResult(turn, call);
    return result?.end === null ? result : undefined;
  }

  endRunOf(turnId: string, call: string, status: "completed" | "failed" | "cancelled"): void {
    const turn = this.turn(turnId);
    const run = turn === undefined ? undefined : findSubAgentRun(turn, call);
    if (run?.status === "running") this.write({ type: "run.end", turn: turnId, run: run.id, status });
  }

  endTurn(
    id: string,
    reason: Exclude<Turn["status"], "running">,
    duration_ms: number,
    usage?: NonNullable<Turn["usage"]>,
  ): void {
    const turn = this.turn(id);
    if (turn === undefined || turn.status !== "running") return;
    const main = mainRun(turn);
    const status = mainRunStatus(reason);
    if (main?.status === "running") this.write({ type: "run.end", turn: id, run: main.id, status });
    this.write({
      type: "turn.end",
      turn: id,
      reason,
      duration_ms,
      ...(usage === undefined ? {} : { usage }),
    });
  }

  /** Supersedes all content of a turn, for a server that replays the turn from its start. */
  restart(turn: Turn): void {
    const main = mainRun(turn);
    const blocks = listBlocks(turn).map((block) => block.id);
    const groups = turn.items.toArray().flatMap((item) => (item?.kind === "group_start" ? [item.id] : []));
    const runs = turn.runs.flatMap((run) =>
      run.id === main?.id || run.status === "superseded" ? [] : [run.id],
    );
    this.write({ type: "turn.takeover", turn: turn.id, blocks, groups, runs });
  }

  /** Returns the block at an index, without a search. */
  blockAt(turnId: string, index: number | undefined): Block | undefined {
    const item = index === undefined ? null : (this.turn(turnId)?.items.get(index) ?? null);
    return isBlock(item) ? item : undefined;
  }

  /** Like `find`, but only among the newest blocks: a server repeats a block right after its first copy. */
  findRecent(turnId: string, test: (block: Block) => boolean): Block | undefined {
    return this.#newest(turnId, test, RECENT);
  }

  /** Returns the newest block that passes a test. */
  find(turnId: string, test: (block: Block) => boolean): Block | undefined {
    return this.#newest(turnId, test, Infinity);
  }

  #newest(turnId: string, test: (block: Block) => boolean, limit: number): Block | undefined {
    const items = this.turn(turnId)?.items;
    if (items === undefined) return undefined;
    for (let back = 1; back <= Math.min(items.length, limit); back++) {
      const item = items.at(-back) ?? null;
      if (isBlock(item) && test(item)) return item;
    }
    return undefined;
  }
}

/** Returns the fields that address an existing block, for deltas, ends and updates. */
export function named(
  turn: string,
  block: Block,
): { turn: string; run: string; block: string; index: number } {
  return { turn, run: block.run, block: block.id, index: block.index };
}
