/** `BenchTarget` is what the page requires of each compared library. Types only. */
import type { Streamed } from "../react/turn.ts";
import type { ReactNode } from "react";

export interface BenchTarget {
  /** Renders the thread with the earlier turns. */
  readonly node: ReactNode;
  /** The frames of the next turn as JSON text, in the format of the subject. */
  readonly frames: readonly string[];
  /** Whether the earlier turns are rendered. */
  isReady(): boolean;
  /** Requests the turn. Frames arrive after this call. */
  begin(): void;
  /** Receives one frame from the wire. */
  receive(frame: string): void;
}

export type CreateTarget = (streamed: Streamed) => BenchTarget;
