/** Tests that events of earlier versions are converted one version at a time, with versions that don't exist yet. */
import { SCHEMA_VERSION, upgradeEvent } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { applyEventSteps, UPGRADE_STEPS, type UpgradeStep } from "../src/events/upgrade.ts";

/** Versions 2 and 3 each rename a field, and keep what already has the new name. */
const STEPS: readonly UpgradeStep[] = [
  { event: ({ title, ...rest }) => ({ name: title, ...rest }), snapshot: null },
  { event: ({ name, ...rest }) => ({ label: name, ...rest }), snapshot: null },
];
const EVENT = { id: "1-1", at: 1, type: "session.update" };

test("there is one step for each version up to the current one", () => {
  expect(UPGRADE_STEPS.length + 1).toBe(SCHEMA_VERSION);
});

test.each([
  { v: 1, title: "a" },
  { v: 2, name: "a" },
  { v: 2, label: "a", name: "b" },
])("an event of an earlier version gets the current form: %j", (fields) => {
  expect(applyEventSteps({ ...EVENT, ...fields }, STEPS)).toEqual({ ...EVENT, v: 3, label: "a" });
});

test.each([3, 4, 0, Number.NaN])("an event of version %d is not changed", (v) => {
  const event = { ...EVENT, v, title: "a" };
  expect(applyEventSteps(event, STEPS)).toBe(event);
});

test.each([SCHEMA_VERSION, SCHEMA_VERSION + 1])("version %d is folded as it is", (v) => {
  const event = { ...EVENT, v };
  expect(upgradeEvent(event)).toBe(event);
});
