/** Verifies the fold vectors and `legal.json` with the public functions. */
import { emptyState, fold, foldAll, restore, snapshot } from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { EVENT_RULES } from "../../../../packages/protocol/src/check-event/rules.ts";
import type { FoldVector, LegalVector } from "../vector-types.ts";
import { applyPatch } from "./patch.ts";
import type { Report } from "./report.ts";

export function verifyFold(report: Report, vector: FoldVector): void {
  report.same("empty", snapshot(emptyState), vector.empty);
  report.same("number of patches", vector.patches.length, vector.events.length);
  const patched = structuredClone(vector.empty) as unknown as Record<string, unknown>;
  let state = emptyState;
  for (const [n, event] of vector.events.entries()) {
    state = fold(state, event);
    report.attempt(`patch ${n}`, () => applyPatch(patched, vector.patches[n] ?? []));
    report.same(`after event ${n}`, snapshot(state), patched);
  }
  report.same("state", snapshot(state), vector.state);
  report.same("restored", snapshot(restore(vector.state)), vector.state);
}

/** Checks that the log of a scenario is valid. */
export function verifyLegalLog(report: Report, vector: FoldVector): void {
  let state = emptyState;
  for (const event of vector.events) {
    report.same(`${event.id} is legal`, checkEvent(state, event), null);
    state = fold(state, event);
  }
}

export function verifyLegal(report: Report, vector: LegalVector): void {
  report.same("rules", EVENT_RULES, vector.rules);
  for (const example of vector.cases) {
    let state = emptyState;
    for (const event of example.events) {
      report.same(`${example.name}: ${event.id}`, checkEvent(state, event), null);
      state = fold(state, event);
    }
    const rule = checkEvent(foldAll(example.events), example.event)?.rule ?? null;
    report.same(`${example.name}: rule`, rule, example.legal ? null : example.rule);
    report.same(`${example.name}: legal`, rule === null, example.legal);
  }
  const broken = new Set<string>(vector.cases.map((example) => (example.legal ? "" : example.rule)));
  report.same(
    "rules without an example",
    Object.keys(EVENT_RULES).filter((rule) => !broken.has(rule)),
    [],
  );
}
