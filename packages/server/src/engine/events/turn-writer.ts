/**
 * `TurnWriter` writes the events of one attempt at a turn and folds each of them into its own copy of the session. It
 * does not decide what to write.
 *
 * Invariant: an event is folded synchronously in the order of the writes, so concurrent branches never get the same
 * index, block or call id. Callers read the copy to see what exists. Its positions are local. After `close`, nothing is
 * written.
 */
import { fold, type Position, SCHEMA_VERSION, type SessionState, type Turn } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { Writer } from "../../log/writer/writer.ts";

export interface TurnWriterOptions {
  readonly writer: Writer;
  /** The session right after the claim; the turn is its last one. */
  readonly state: SessionState;
  /** Call ids of journaled steps. Some of these calls may not be in the log yet. */
  readonly calls: Iterable<string>;
  readonly now: () => number;
  /** Called for every event, with the turn that includes it. The event is not in the log yet. */
  readonly onEvent?: (event: EventDraft, turn: Turn) => void;
}

type Distribute<D> = D extends unknown ? Omit<D, "turn"> : never;
/** An event of this turn; the writer adds the turn id. */
export type TurnEventDraft = Distribute<Extract<EventDraft, { readonly turn: string }>>;
type DistributePlace<D> = D extends unknown ? Omit<D, "turn" | "index" | "block"> : never;
/** A new block; the writer adds its index and id. */
export type BlockDraft = DistributePlace<Extract<EventDraft, { readonly block: string }>>;

/** The address of a block in events. */
export interface BlockRef {
  readonly run: string;
  readonly block: string;
  readonly index: number;
}

/** The id of the main run, in events and in the journal. */
export const MAIN_RUN = "main";

const MAX_CALL = 64;

export class TurnWriter {
  readonly #writer: Writer;
  readonly #now: () => number;
  readonly #onEvent: TurnWriterOptions["onEvent"];
  #state: SessionState;
  #seq: number;
  #isOver = false;
  /** All allocated call ids, including those of calls that are not written yet. */
  readonly #calls: Set<string>;

  constructor({ writer, state, calls, now, onEvent }: TurnWriterOptions) {
    this.#writer = writer;
    this.#state = state;
    this.#seq = state.seq;
    this.#now = now;
    this.#onEvent = onEvent;
    const items = state.turns.last()?.items.toArray() ?? [];
    const written = items.flatMap((item) => (item !== null && "call" in item ? (item.call ?? []) : []));
    this.#calls = new Set([...written, ...calls]);
  }

  /**
   * Returns a call id that is unique in the turn. It is derived from the model's id, because some models reuse ids in
   * every step.
   */
  allocateCallId(id: string): string {
    const plain = id.replaceAll(/[^\w-]/g, "_").slice(0, MAX_CALL) || "call";
    let call = plain;
    for (let n = 2; this.#calls.has(call); n++) call = `${plain}_${n}`;
    this.#calls.add(call);
    return call;
  }

  get turn(): Turn {
    const turn = this.#state.turns.last();
    if (turn === undefined) throw new Error("the session has no turn to write to");
    return turn;
  }

  /** The session as folded by this writer. */
  get state(): SessionState {
    return this.#state;
  }

  get title(): string | null {
    return this.#state.title;
  }

  /** Resolves when the send buffer has space for more. `flush` resolves when the events are in the log. */
  write(draft: TurnEventDraft): Promise<void> {
    // A branch may still run after its attempt ended. Its events must not mix with those of the next attempt.
    if (this.#isOver) return Promise.reject(new Error("this attempt is over"));
    // In this order, readers of the log can use a delta without parsing it: see `raw-deltas.ts`.
    const whole = Object.assign({ type: draft.type, turn: this.turn.id }, draft) as EventDraft;
    // Local positions, because concurrent events of other writers (messages, titles) don't concern this turn.
    const id = `${this.#state.epoch}-${++this.#seq}`;
    this.#state = fold(this.#state, { v: SCHEMA_VERSION, at: this.#now(), ...whole, id });
    this.#onEvent?.(whole, this.turn);
    return this.#writer.write(whole);
  }

  /** Folds an event about this turn that another writer wrote. */
  applyExternal(draft: TurnEventDraft): void {
    const id = `${this.#state.epoch}-${++this.#seq}`;
    const whole = { ...draft, turn: this.turn.id } as EventDraft;
    this.#state = fold(this.#state, { v: SCHEMA_VERSION, at: this.#now(), ...whole, id });
  }

  /** Starts a block at the next index. */
  async start(draft: BlockDraft): Promise<BlockRef> {
    const { place, written } = this.startSync(draft);
    await written;
    return place;
  }

  /** Like `start`, but synchronous, so that a caller can write further events before another branch does. */
  startSync(draft: BlockDraft): { readonly place: BlockRef; readonly written: Promise<void> } {
    const index = this.turn.items.length;
    const place = { run: draft.run, block: `b${index}`, index };
    return { place, written: this.write({ ...draft, ...place }) };
  }

  /**
   * Writes the events that `next` returns until it returns none.
   * @param next returns the missing events of the folded turn
   */
  async writeAll(next: (turn: Turn) => readonly TurnEventDraft[]): Promise<void> {
    for (let drafts = next(this.turn); drafts.length > 0; drafts = next(this.turn))
      for (const draft of drafts) await this.write(draft);
  }

  flush(): Promise<Position | null> {
    return this.#writer.flush();
  }

  /** Rejects all further writes. */
  close(): void {
    this.#isOver = true;
  }
}
