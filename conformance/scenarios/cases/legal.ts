/** All examples for the rules of a legal log, and that no rule is without one. */
import { EVENT_RULES } from "@turnstream/protocol";
import type { LegalCase } from "../vector-types.ts";
import { Judge } from "./judge.ts";
import { judgeChanges } from "./legal-changes.ts";
import { judgeLog } from "./legal-log.ts";
import { judgeOrder } from "./legal-order.ts";
import { judgeRuns } from "./legal-runs.ts";

export function legalCases(): readonly LegalCase[] {
  const judge = new Judge();
  for (const write of [judgeLog, judgeRuns, judgeOrder, judgeChanges]) write(judge);
  const broken = new Set<string>(judge.cases.map((c) => (c.legal ? "" : c.rule)));
  const missing = Object.keys(EVENT_RULES).filter((rule) => !broken.has(rule));
  if (missing.length > 0) throw new Error(`no example breaks ${missing.join(", ")}`);
  return judge.cases;
}
