/**
 * The pen of one attempt at a turn. It keeps a folded copy of what it writes, and whoever writes looks there for what is
 * told already: the next index, the open group, whether a result has begun. Never decides what to write.
 */
import {
  type EventDraft,
  fold,
  type Position,
  SCHEMA_VERSION,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import type { Writer } from "../log/writer.ts";

export interface PenOptions {
  readonly writer: Writer;
  /** Right after the claim; the turn is its last one. */
  readonly state: SessionState;
  readonly now: () => number;
}

type Distribute<D> = D extends unknown ? Omit<D, "turn"> : never;
/** An event of this turn, which the pen names. */
export type TurnDraft = Distribute<Extract<EventDraft, { readonly turn: string }>>;
type DistributePlace<D> = D extends unknown ? Omit<D, "turn" | "index" | "block"> : never;
/** A new block: its place and its id are given by the pen. */
export type BlockDraft = DistributePlace<Extract<EventDraft, { readonly block: string }>>;

/** Where a block stands. */
export interface BlockPlace {
  readonly run: string;
  readonly block: string;
  readonly index: number;
}

export class Pen {
  readonly #writer: Writer;
  readonly #now: () => number;
  #state: SessionState;
  #seq: number;
  #isOver = false;

  constructor({ writer, state, now }: PenOptions) {
    this.#writer = writer;
    this.#state = state;
    this.#seq = state.seq;
    this.#now = now;
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
  write(draft: TurnDraft): Promise<void> {
    // What a branch says after its attempt was given up must not get between the lines of the next one.
    if (this.#isOver) return Promise.reject(new Error("this attempt is over"));
    const whole = { ...draft, turn: this.turn.id } as EventDraft;
    // Positions of its own: what others write meanwhile (messages, titles) is not about this turn.
    const id = `${this.#state.epoch}-${++this.#seq}`;
    this.#state = fold(this.#state, { v: SCHEMA_VERSION, at: this.#now(), ...whole, id });
    return this.#writer.write(whole);
  }

  /** Begins a block at the next place. */
  async start(draft: BlockDraft): Promise<BlockPlace> {
    const index = this.turn.items.length;
    const place = { run: draft.run, block: `b${index}`, index };
    await this.write({ ...draft, ...place });
    return place;
  }

  flush(): Promise<Position | null> {
    return this.#writer.flush();
  }

  /** Nothing more is written with it. */
  putDown(): void {
    this.#isOver = true;
  }
}
