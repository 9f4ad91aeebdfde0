/**
 * The pen of one attempt at a turn. It keeps a folded copy of what it writes, and whoever writes looks there for what is
 * told already: the next index, the open group, whether a result has begun. Never decides what to write.
 */
import { fold, type Position, SCHEMA_VERSION, type SessionState, type Turn } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { Writer } from "../../log/writer/writer.ts";

export interface TurnWriterOptions {
  readonly writer: Writer;
  /** Right after the claim; the turn is its last one. */
  readonly state: SessionState;
  readonly now: () => number;
}

type Distribute<D> = D extends unknown ? Omit<D, "turn"> : never;
/** An event of this turn, which the pen names. */
export type TurnEventDraft = Distribute<Extract<EventDraft, { readonly turn: string }>>;
type DistributePlace<D> = D extends unknown ? Omit<D, "turn" | "index" | "block"> : never;
/** A new block: its place and its id are given by the pen. */
export type BlockDraft = DistributePlace<Extract<EventDraft, { readonly block: string }>>;

/** Where a block stands. */
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
  #state: SessionState;
  #seq: number;
  #isOver = false;
  /** The ids of calls that were given, also of those that are not told yet. */
  readonly #calls: Set<string>;

  constructor({ writer, state, now }: TurnWriterOptions) {
    this.#writer = writer;
    this.#state = state;
    this.#seq = state.seq;
    this.#now = now;
    const items = state.turns.last()?.items.toArray() ?? [];
    this.#calls = new Set(
      items.flatMap((item) => (item !== null && "call" in item ? (item.call ?? []) : [])),
    );
  }

  /** A call's id: the model's own, made unique in the turn, for some models number their calls afresh in every step. */
  allocateCallId(id: string): string {
    const plain = id.replaceAll(/[^\w-]/g, "_").slice(0, MAX_CALL) || "call";
    let call = plain;
    for (let n = 2; this.#calls.has(call); n++) call = `${plain}_${n}`;
    this.#calls.add(call);
    return call;
  }

  get turn(): Turn {
    const turn = this.#state.turns.last();
    if (turn === undefined) throw new Error("a pen is for a turn that has started");
    return turn;
  }

  /** The session as this pen knows it. */
  get state(): SessionState {
    return this.#state;
  }

  get title(): string | null {
    return this.#state.title;
  }

  /** Fulfilled once there is room for more; `flush` tells when it is in the log. */
  write(draft: TurnEventDraft): Promise<void> {
    // What a branch says after its attempt was given up must not get between the lines of the next one.
    if (this.#isOver) return Promise.reject(new Error("this attempt is over"));
    const whole = { ...draft, turn: this.turn.id } as EventDraft;
    // Positions of its own: what others write meanwhile (messages, titles) is not about this turn.
    const id = `${this.#state.epoch}-${++this.#seq}`;
    this.#state = fold(this.#state, { v: SCHEMA_VERSION, at: this.#now(), ...whole, id });
    return this.#writer.write(whole);
  }

  /** Something about this turn that others have written. */
  applyExternal(draft: TurnEventDraft): void {
    const id = `${this.#state.epoch}-${++this.#seq}`;
    const whole = { ...draft, turn: this.turn.id } as EventDraft;
    this.#state = fold(this.#state, { v: SCHEMA_VERSION, at: this.#now(), ...whole, id });
  }

  /** Begins a block at the next place. */
  async start(draft: BlockDraft): Promise<BlockRef> {
    const { place, written } = this.startSync(draft);
    await written;
    return place;
  }

  /** The same for whoever writes more before anybody else can. */
  startSync(draft: BlockDraft): { readonly place: BlockRef; readonly written: Promise<void> } {
    const index = this.turn.items.length;
    const place = { run: draft.run, block: `b${index}`, index };
    return { place, written: this.write({ ...draft, ...place }) };
  }

  /** Writes what comes next until nothing does. @param next what is missing in the turn as it is then */
  async writeAll(next: (turn: Turn) => readonly TurnEventDraft[]): Promise<void> {
    for (let drafts = next(this.turn); drafts.length > 0; drafts = next(this.turn))
      for (const draft of drafts) await this.write(draft);
  }

  flush(): Promise<Position | null> {
    return this.#writer.flush();
  }

  /** Nothing more is written with it. */
  close(): void {
    this.#isOver = true;
  }
}
