/**
 * `upgradeEvent` converts an event of any earlier schema version to the current one, one version at a time, so that
 * readers fold them all.
 *
 * Invariant: `UPGRADE_STEPS` has one step per version, and no step changes or disappears, because archives keep events of
 * every version. A step keeps what already has the newer form: during a deploy, a worker of the older version writes
 * events that a gateway of the newer one has committed. A reader folds an event of a newer version as one of its own.
 */
import type { SessionEvent } from "./index.ts";

/** An event of any schema version. */
export type ReadableEvent = SessionEvent | { readonly v: number; readonly id: string; readonly type: string };

export type Fields = Readonly<Record<string, unknown>>;

/** Converts what one version wrote into the form of the next. */
export interface UpgradeStep {
  readonly event: (event: Fields) => Fields;
  /**
   * Converts the turns and the other fields of a snapshot. The result must equal the fold of the converted events. Null
   * if that needs more than the snapshot; readers then fold the events.
   */
  readonly snapshot: {
    readonly turn: (turn: Fields) => Fields;
    readonly header: (header: Fields) => Fields;
  } | null;
}

/** The step at index n converts version n + 1 to version n + 2. */
export const UPGRADE_STEPS: readonly UpgradeStep[] = [];

export function upgradeEvent(event: ReadableEvent): SessionEvent {
  return applyEventSteps(event, UPGRADE_STEPS);
}

/** @param steps those up to the version of the reader */
export function applyEventSteps(event: ReadableEvent, steps: readonly UpgradeStep[]): SessionEvent {
  const current = steps.length + 1;
  if (!(event.v >= 1 && event.v < current)) return event as SessionEvent;
  let fields = event as Fields;
  for (const step of steps.slice(event.v - 1)) fields = step.event(fields);
  return { ...fields, v: current } as unknown as SessionEvent;
}
