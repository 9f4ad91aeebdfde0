/**
 * `transitionError` decides whether an interaction may change, by status, version, shown content and deadline. Pure;
 * the time is an argument.
 *
 * Invariant: the statuses come from the protocol and must not be listed here again. A final status never changes. The
 * SQL condition in `store/interactions.ts` has the same rules, so a new rule is needed in both.
 */
import type { InteractionBlock } from "@turnstream/protocol";
import { TRANSITIONS } from "@turnstream/protocol/writer";

export type InteractionKind = InteractionBlock["kind"];

/**
 * Why a change was refused:
 * - `status`: it was decided before, or the new status can't follow the current one
 * - `version`, `digest`: it is not what the user saw
 * - `late`: its deadline has passed; `early`: its deadline has not passed, or it has none
 */
export type TransitionErrorCode = "status" | "version" | "digest" | "late" | "early";

/** When a status may be reached: before the deadline, only after it, or at any time. */
type Timing = "before" | "after" | "any";

/** A user decides about these. A feature changes those of other kinds. */
export const USER_DECIDED: readonly InteractionKind[] = ["approval", "question", "form"];

export function isPendingStatus(kind: InteractionKind, status: string): boolean {
  return Object.hasOwn(TRANSITIONS[kind], status);
}

/** Returns the statuses from which `to` can be reached in one step. */
export function allowedFrom(kind: InteractionKind, to: string): string[] {
  return Object.entries(TRANSITIONS[kind])
    .filter(([, targets]) => targets.includes(to))
    .map(([from]) => from);
}

/** A stop can cancel at any time, and a feature can change what it decides about, however late. */
export function deadlineRule(kind: InteractionKind, to: string): Timing {
  if (!USER_DECIDED.includes(kind) || to === "cancelled") return "any";
  return to === "timed_out" || to === "expired" ? "after" : "before";
}

/** The fields of an interaction that the rules use. */
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

/** Returns null if the change is allowed at `now`. */
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
