/** The sub-port that reads archived turns. They are written by `archive.write`, and nowhere else. */
import type { TurnSnapshot, TurnStatus } from "@turnstream/protocol";
import type { Ref } from "../refs.ts";

export interface TurnRecord {
  readonly id: string;
  /** The seq of its start, and of its end; null while it ran at the archived position. */
  readonly start: number;
  readonly end: number | null;
  readonly status: TurnStatus;
  /** Whether a form or payment in it is still open. */
  readonly open: boolean;
  readonly snapshot: TurnSnapshot;
}

export interface Turns {
  /** Null when no such turn is archived. */
  get(ref: Ref, id: string): Promise<TurnRecord | null>;
  /** The newest first; `before` is the `start` of the last one of the page before. */
  list(ref: Ref, page: { readonly limit: number; readonly before?: number }): Promise<TurnRecord[]>;
  /** Those with an open form or payment, the oldest first, at most 1,000. */
  open(ref: Ref): Promise<TurnRecord[]>;
}
