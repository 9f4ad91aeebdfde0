/**
 * Helps a decoder write canonical events: gives them positions of the decoder's own and folds them, so that
 * the decoder can look at what it has said so far. Local to one `decode` call; never shared.
 */
import type { SessionEvent, EventDraft } from "../events/index.ts";
import { findRun, findTurn } from "../fold/edit.ts";
import { fold } from "../fold/fold.ts";
import {
  findToolCall,
  findBlock,
  isMain,
  mainRun,
  mainRunStatus,
  findToolResult,
  findSubAgentRun,
} from "../turn-queries.ts";
import { type Block, listBlocks, isBlock, type SessionState, type Turn } from "../state.ts";
import { SCHEMA_VERSION } from "../version.ts";

/** What every decoder keeps: what it has said so far, and the clock of the frames. */
export interface Decoding {
  readonly state: SessionState;
  readonly at: number;
  /** The last cursor seen on a frame; where this client resumes from. */
  readonly cursor: string | null;
}

/** How many items back a repeat may reach. */
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

  /** The index and id for a new block of a turn. */
  next(turn: string): { turn: string; block: string; index: number } {
    const index = this.turn(turn)?.items.length ?? 0;
    return { turn, block: `${turn}/${index}`, index };
  }

  session(session: string, number: number): void {
    if (this.state.session === "") this.write({ type: "session.start", session, number });
  }

  /** Begins a turn and its main run, unless they are there. */
  begin(
    id: string,
    agent: string,
    more: { mode?: "agent" | "chat"; from_share?: boolean; model?: string; message?: string | null } = {},
  ): void {
    if (this.turn(id) !== undefined) return;
    const number = this.state.turns.length + 1;
    // Servers that don't say which message a turn answers take them in order.
    const message = more.message === undefined ? (this.state.waiting[0]?.id ?? null) : more.message;
    const answers = message === null ? {} : { message };
    const { mode = "agent", from_share = false, model } = more;
    const turn = { turn: id, number, message_number: number, agent, mode, from_share, ...answers };
    this.write({ type: "turn.start", ...turn, ...(model === undefined ? {} : { model }) });
    this.write({ type: "run.start", turn: id, run: id, agent });
  }

  /** The run of a sub-agent under a call, begun inside the call's result when it is new. */
  subRun(turnId: string, call: string, agent: string): string {
    const turn = this.turn(turnId);
    const known = turn === undefined ? undefined : findSubAgentRun(turn, call);
    if (turn === undefined || known !== undefined) return known?.id ?? call;
    // A run of that name may have become void.
    const run = findRun(turn, call) === undefined ? call : `${call}/${turn.runs.length}`;
    const parent = findToolCall(turn, call)?.run ?? turnId;
    this.openResult(turnId, call);
    this.write({ type: "run.start", turn: turnId, run, parent, call, agent });
    return run;
  }

  /** Starts the result of a call, unless it has one; `seen` is what is known where the call was not shown. */
  openResult(turnId: string, call: string, seen: { run?: string; name?: string; label?: string } = {}): void {
    const turn = this.turn(turnId);
    if (turn === undefined || findToolResult(turn, call) !== undefined) return;
    const caller = findToolCall(turn, call);
    const { run = caller?.run ?? turnId } = seen;
    const tool = { call, name: seen.name ?? caller?.name ?? "", label: seen.label ?? caller?.label ?? "" };
    this.write({ type: "tool_result.start", ...this.next(turnId), run, ...tool });
  }

  /** The result of a call, while it is open. */
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

  /** Makes void all that is said of a turn, for a server that begins to tell it again. */
  restart(turn: Turn): void {
    const blocks = listBlocks(turn).map((block) => block.id);
    const groups = turn.items.toArray().flatMap((item) => (item?.kind === "group_start" ? [item.id] : []));
    const runs = turn.runs.flatMap((run) =>
      isMain(turn, run.id) || run.status === "superseded" ? [] : [run.id],
    );
    this.write({ type: "turn.takeover", turn: turn.id, blocks, groups, runs });
  }

  /** The block at an index, without looking at the others. */
  blockAt(turnId: string, index: number | undefined): Block | undefined {
    const item = index === undefined ? null : (this.turn(turnId)?.items.get(index) ?? null);
    return isBlock(item) ? item : undefined;
  }

  /** Like `find`, among the newest blocks only: what a server tells twice, it tells twice in a row. */
  findRecent(turnId: string, test: (block: Block) => boolean): Block | undefined {
    const turn = this.turn(turnId);
    if (turn === undefined) return undefined;
    return findBlock(turn, (block): block is Block => test(block), Math.max(0, turn.items.length - RECENT));
  }

  /** The newest block that passes a test. */
  find(turnId: string, test: (block: Block) => boolean): Block | undefined {
    const turn = this.turn(turnId);
    return turn === undefined ? undefined : findBlock(turn, (block): block is Block => test(block));
  }
}

/** What names a block that is there: for deltas, ends and updates. */
export function named(
  turn: string,
  block: Block,
): { turn: string; run: string; block: string; index: number } {
  return { turn, run: block.run, block: block.id, index: block.index };
}
