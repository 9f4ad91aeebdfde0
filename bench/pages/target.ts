/** What the page and those that are compared agree on. Types only. */
import type { Streamed } from "../react/turn.ts";
import type { ReactNode } from "react";

export interface BenchTarget {
  /** Draws the thread with what was there before. */
  readonly node: ReactNode;
  /** The wire's frames of the turn that comes, as JSON text, in the format of the subject. */
  readonly frames: readonly string[];
  /** Whether the earlier turns stand there. */
  isReady(): boolean;
  /** Asks for the turn; from then on frames come. */
  begin(): void;
  /** One frame from the wire. */
  receive(frame: string): void;
}

export type CreateTarget = (streamed: Streamed) => BenchTarget;
