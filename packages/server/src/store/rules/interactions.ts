/**
 * Which change of an interaction wins: its status, its version, what was shown, and its deadline. Pure.
 * The statuses come from the protocol; never a second list of them. Time comes in as an argument.
 */
import type { InteractionBlock } from "@turnstream/protocol";
import { TRANSITIONS } from "@turnstream/protocol/writer";

export type InteractionKind = InteractionBlock["kind"];

/**
 * Why a change lost:
 * - `status`: it was decided before, or this can't follow what it is now
 * - `version`, `digest`: it isn't what the person saw
 * - `late`: its deadline had passed; `early`: its deadline hasn't, or it has none
 */
export type TransitionErrorCode = "status" | "version" | "digest" | "late" | "early";

/** When a status may be reached: before the deadline, only after it, or at any time. */
type Timing = "before" | "after" | "any";

export const INTERACTION_KINDS = Object.keys(TRANSITIONS) as InteractionKind[];

export function isPendingStatus(kind: InteractionKind, status: string): boolean {
  return Object.hasOwn(TRANSITIONS[kind], status);
}

/** The statuses from which `to` can be reached in one step. */
export function allowedFrom(kind: InteractionKind, to: string): string[] {
  return Object.entries(TRANSITIONS[kind])
    .filter(([, targets]) => targets.includes(to))
    .map(([from]) => from);
}

/** A stop cancels at any time, and what happened to money is the gateway's word, however late. */
export function deadlineRule(kind: InteractionKind, to: string): Timing {
  if (kind === "payment" || to === "cancelled") return "any";
  return to === "timed_out" || to === "expired" ? "after" : "before";
}

/**
 * Whether the order of a payment has the word, and not a change of the request by itself. Without an order there is
 * nobody to ask what became of it: it can be cancelled, and nothing else.
 */
export function isOrderDriven(kind: InteractionKind, to: string, ordered: boolean): boolean {
  return kind === "payment" && (ordered || to !== "cancelled");
}

/** What the rules look at. */
export interface TransitionState {
  readonly kind: InteractionKind;
  readonly status: string;
  readonly version: number;
  readonly digest: string | null;
  readonly deadline: number | null;
}

export interface TransitionInput {
  readonly to: string;
  readonly expectVersion?: number;
  readonly expectDigest?: string;
}

/** Null when the change may be made at `now`. */
export function transitionError(
  current: TransitionState,
  transition: TransitionInput,
  now: number,
): TransitionErrorCode | null {
  if (!allowedFrom(current.kind, transition.to).includes(current.status)) return "status";
  if (transition.expectVersion !== undefined && transition.expectVersion !== current.version)
    return "version";
  if (transition.expectDigest !== undefined && transition.expectDigest !== current.digest) return "digest";
  const passed = current.deadline !== null && current.deadline <= now;
  const timing = deadlineRule(current.kind, transition.to);
  if (timing === "before" && passed) return "late";
  return timing === "after" && !passed ? "early" : null;
}
