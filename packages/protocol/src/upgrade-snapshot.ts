/**
 * `upgradeSnapshot` and `upgradeTurn` convert snapshots and turns of another schema version to the current one.
 *
 * Invariant: the result folds further events like a snapshot of the current version. A snapshot of the next version is
 * returned unchanged: a version only adds fields, which an older reader keeps and ignores. Every other newer version is
 * refused. They don't fold events.
 */
import { UPGRADE_STEPS, type Fields, type UpgradeStep } from "./events/upgrade.ts";
import type { Snapshot, TurnSnapshot } from "./snapshot.ts";
import { SCHEMA_VERSION } from "./version.ts";

/** @returns null if the version can't be converted */
export function upgradeSnapshot(snapshot: Snapshot): Snapshot | null {
  const steps = findSteps(snapshot.v);
  if (!steps?.length) return steps && snapshot;
  const { turns, ...header } = snapshot;
  return {
    ...(steps.reduce<Fields>((fields, step) => step.header(fields), header) as unknown as Snapshot),
    v: SCHEMA_VERSION,
    turns: turns.map((turn) => applyTurnSteps(turn, steps)),
  };
}

/** @returns null if the version can't be converted */
export function upgradeTurn(turn: TurnSnapshot, v: number): TurnSnapshot | null {
  const steps = findSteps(v);
  return steps && applyTurnSteps(turn, steps);
}

type SnapshotStep = NonNullable<UpgradeStep["snapshot"]>;

function applyTurnSteps(turn: TurnSnapshot, steps: readonly SnapshotStep[]): TurnSnapshot {
  return steps.reduce<Fields>(
    (fields, step) => step.turn(fields),
    turn as unknown as Fields,
  ) as unknown as TurnSnapshot;
}

function findSteps(v: number): readonly SnapshotStep[] | null {
  if (!(v >= 1 && v <= SCHEMA_VERSION + 1)) return null;
  const steps = UPGRADE_STEPS.slice(v - 1).map(({ snapshot }) => snapshot);
  return steps.every((step) => step !== null) ? steps : null;
}
