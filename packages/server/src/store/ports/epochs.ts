/** The sub-port of epochs: who may write a session's log. Never looks at the log itself. */
import type { Cursor } from "@turnstream/protocol";
import type { Ref } from "../refs.ts";

export interface EpochClaim {
  /** The highest epoch that the log was seen in; 0 when there is no log. */
  readonly seen: number;
  /** Which process claims, and why: for people who look into what happened. Never content. */
  readonly by: string;
  readonly reason: string;
  /** Only if this is still the newest: otherwise refused with CONFLICT. For who need not have it if others work on it. */
  readonly ifEpoch?: number;
}

export interface NextEpoch {
  readonly epoch: number;
  /** How far the log is archived. It moves no more until the log is claimed under this epoch or a higher one. */
  readonly archived: Cursor;
}

export interface EpochRecord {
  readonly epoch: number;
  readonly by: string;
  readonly reason: string;
  readonly at: number;
}

export interface Epochs {
  /**
   * A new epoch of the session, above every one ever given out and above `seen`. No number is given twice,
   * whoever asks at the same time. Whoever gets one claims the log under it: until somebody has, nothing is archived.
   * Throws NOT_FOUND.
   */
  next(ref: Ref, claim: EpochClaim): Promise<NextEpoch>;
  /** The newest claims first. */
  list(ref: Ref, limit: number): Promise<EpochRecord[]>;
}
