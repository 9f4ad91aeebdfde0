/**
 * `LogWriter` writes valid logs for tests, vectors and scenarios. It assigns positions, times and indexes in order, and
 * checks every event against the rules. Deterministic: it never reads a clock.
 */
import {
  type SessionEvent,
  emptyState,
  findTurn,
  fold,
  type Json,
  SCHEMA_VERSION,
  type SessionState,
} from "@turnstream/protocol";
import { type EventDraft, checkEvent } from "@turnstream/protocol/writer";

const STARTED_AT = 1_800_000_000_000;
const STEP_MS = 40;

export class LogWriter {
  readonly events: SessionEvent[] = [];
  state: SessionState = emptyState;
  private epoch = 1;
  private turnId = "";
  private count = 0;
  private readonly check: boolean;

  /** @param options.check whether to check every event against the rules. Default: true. */
  constructor(options: { check?: boolean } = {}) {
    this.check = options.check ?? true;
  }

  /** Adds an event unchanged. Throws if a rule forbids it here. */
  add(draft: EventDraft): SessionEvent {
    if (draft.type === "turn.takeover") this.epoch++;
    const seq = this.state.seq + 1;
    const stamp = { v: SCHEMA_VERSION, id: `${this.epoch}-${seq}`, at: STARTED_AT + seq * STEP_MS };
    const event = { ...stamp, ...draft } as SessionEvent;
    const wrong = this.check ? checkEvent(this.state, event) : null;
    if (wrong !== null) throw new Error(`${wrong.rule} ${event.type} at ${event.id}: ${wrong.message}`);
    this.events.push(event);
    this.state = fold(this.state, event);
    return event;
  }

  /** Returns a new id with a readable prefix. */
  id(prefix: string): string {
    this.count++;
    return `${prefix}_${this.count}`;
  }

  get turn(): string {
    return this.turnId;
  }

  session(session = "ses_market", number = 4711): this {
    this.add({ type: "session.start", session, number });
    return this;
  }

  /** Adds a user message, the turn that answers it, and its main run. */
  begin(text: string, more: { mode?: "agent" | "chat"; files?: { url: string }[] } = {}): this {
    const message = this.id("msg");
    this.add({
      type: "message.add",
      message,
      text,
      by: "usr_an",
      ...(more.files ? { files: more.files } : {}),
    });
    this.turnId = this.id("turn");
    const number = this.state.turns.length + 1;
    const { mode = "agent" } = more;
    const turn = {
      turn: this.turnId,
      number,
      message,
      message_number: number,
      agent: "market",
      model: "scripted-1",
    };
    this.add({ type: "turn.start", ...turn, mode, from_share: false });
    this.add({ type: "run.start", turn: this.turnId, run: this.main, agent: "market" });
    return this;
  }

  /** The id of the current turn's main run. */
  get main(): string {
    return `${this.turnId}/main`;
  }

  /** The addressing fields of the next block of the current turn. */
  place(run = this.main, prefix = "blk"): { turn: string; run: string; block: string; index: number } {
    const index = findTurn(this.state, this.turnId)?.items.length ?? 0;
    return { turn: this.turnId, run, block: this.id(prefix), index };
  }

  think(pieces: readonly string[], run?: string): this {
    const on = this.place(run);
    this.add({ type: "thinking.start", ...on });
    for (const text of pieces) this.add({ type: "thinking.delta", ...on, text });
    this.add({ type: "thinking.end", ...on });
    return this;
  }

  text(pieces: readonly string[], more: { part?: boolean; final?: boolean; run?: string } = {}): this {
    const on = this.place(more.run);
    this.add({ type: "text.start", ...on, part: more.part ?? false });
    for (const text of pieces) this.add({ type: "text.delta", ...on, text });
    this.add({ type: "text.end", ...on, final: more.final ?? false });
    return this;
  }

  /** Writes a complete call and returns its id. */
  call(
    name: string,
    args: readonly string[],
    more: { label?: string; run?: string; call?: string } = {},
  ): string {
    const call = more.call ?? this.id("call");
    const on = this.place(more.run);
    this.add({ type: "tool_call.start", ...on, call, name, label: more.label ?? "" });
    for (const piece of args) this.add({ type: "tool_call.delta", ...on, args: piece });
    this.add({ type: "tool_call.end", ...on });
    return call;
  }

  /** Starts the result of a call. `endResult` ends it. */
  startResult(
    call: string,
    name: string,
    more: { label?: string; run?: string } = {},
  ): ReturnType<LogWriter["place"]> {
    const on = this.place(more.run);
    this.add({ type: "tool_result.start", ...on, call, name, label: more.label ?? "" });
    return on;
  }

  endResult(
    on: ReturnType<LogWriter["place"]>,
    preview: string,
    more: { status?: "success" | "error" | "cancelled"; artifact?: { type: string; data: Json } } = {},
  ): this {
    const { status = "success", artifact = null } = more;
    this.add({ type: "tool_result.end", ...on, status, preview, artifact });
    return this;
  }

  result(
    call: string,
    name: string,
    preview: string,
    more: Parameters<LogWriter["endResult"]>[2] & { run?: string } = {},
  ): this {
    return this.endResult(
      this.startResult(call, name, more.run === undefined ? {} : { run: more.run }),
      preview,
      more,
    );
  }

  startRun(call: string, agent: string, parent = this.main): string {
    const run = this.id("run");
    this.add({ type: "run.start", turn: this.turnId, run, parent, call, agent });
    return run;
  }

  endRun(run = this.main, status: "completed" | "failed" | "cancelled" = "completed"): this {
    this.add({ type: "run.end", turn: this.turnId, run, status });
    return this;
  }

  openGroup(): this {
    const { turn, run, block: group, index } = this.place(this.main, "grp");
    this.add({ type: "group.start", turn, run, group, index });
    return this;
  }

  closeGroup(summary: string): this {
    const { turn, run, index } = this.place();
    const group = findTurn(this.state, this.turnId)?.group ?? "";
    this.add({ type: "group.end", turn, run, group, index, summary });
    return this;
  }

  end(reason: "end_turn" | "user_stopped" | "error" | "requires_interaction" = "end_turn"): this {
    const status = reason === "error" ? "failed" : reason === "user_stopped" ? "cancelled" : "completed";
    this.endRun(this.main, status);
    const usage = { input_tokens: 120, output_tokens: 45, total_tokens: 165, calls: 2 };
    this.add({ type: "turn.end", turn: this.turnId, reason, duration_ms: 2840, usage });
    return this;
  }
}
