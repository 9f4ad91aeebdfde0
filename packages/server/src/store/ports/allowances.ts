/**
 * The sub-port of what people have allowed for the rest of a session: that a tool of an agent needs no approval any more.
 * Never decides whether a tool needs one, and never tells anybody.
 */
import type { Ref } from "../refs.ts";

export interface NewAllowance {
  readonly agent: string;
  readonly tool: string;
  readonly by?: string;
}

export interface Allowance {
  readonly agent: string;
  readonly tool: string;
  /** Null when nobody was named, or whoever it was has been erased. */
  readonly by: string | null;
  readonly at: number;
}

export interface Allowances {
  /** "already" when there is one for this tool: the first stays. Throws NOT_FOUND without the session. */
  add(ref: Ref, allowance: NewAllowance): Promise<"added" | "already">;
  find(ref: Ref, agent: string, tool: string): Promise<Allowance | null>;
  /** The oldest first, at most 1,000. */
  list(ref: Ref): Promise<Allowance[]>;
  /** False when there is none (any more). */
  remove(ref: Ref, agent: string, tool: string): Promise<boolean>;
}
