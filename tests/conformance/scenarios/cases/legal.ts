/** `legalCases` returns all examples for the rules of a valid log. Throws if a rule has no example. */
import { EVENT_RULES } from "../../../../packages/protocol/src/check-event/rules.ts";
import type { LegalCase } from "../vector-types.ts";
import { CaseRecorder } from "./case-recorder.ts";
import { recordChanges } from "./legal-changes.ts";
import { recordLog } from "./legal-log.ts";
import { recordOrder } from "./legal-order.ts";
import { recordRuns } from "./legal-runs.ts";

export function legalCases(): readonly LegalCase[] {
  const cases = new CaseRecorder();
  for (const write of [recordLog, recordRuns, recordOrder, recordChanges]) write(cases);
  const broken = new Set<string>(cases.cases.map((c) => (c.legal ? "" : c.rule)));
  const missing = Object.keys(EVENT_RULES).filter((rule) => !broken.has(rule));
  if (missing.length > 0) throw new Error(`no example breaks ${missing.join(", ")}`);
  return cases.cases;
}
