/**
 * `approvalPlan` builds a turn whose calls wait for an approval, and `readOutcomes` checks each call afterwards.
 *
 * Invariant: each call has one decision in the store, the same one in the log, and a tool that ran as decided. Does not
 * decide anything itself.
 */
import { listBlocks, type SessionEvent, type Turn } from "@turnstream/protocol";
import { BUILT_IN_STRINGS, type ApprovalDecision, type SessionRef } from "@turnstream/server";
import type { Interaction } from "@turnstream/server/internal";
import { until } from "@turnstream/testkit/util/until.ts";
import type { Plan } from "./turn-plan.ts";
import type { TurnEnvironment } from "./turn-environment.ts";

const UNKNOWN = BUILT_IN_STRINGS.en.errors.OUTCOME_UNKNOWN;

export function approvalPlan(name: string, calls: number, wait: number): Plan {
  const asked = Array.from(
    { length: calls },
    (_, n) => ({ tool: "asked", key: `${name}.${n}`, ms: 20, wait }) as const,
  );
  return { name, steps: [{ think: "", text: "", calls: asked }], final: `Done with ${name}`, paceMs: 1 };
}

/** Waits until all calls of the turn wait for a decision. */
export async function waitForApprovals(
  environment: TurnEnvironment,
  ref: SessionRef,
  calls: number,
): Promise<Interaction[]> {
  let rows: Interaction[] = [];
  await until(`${calls} requests in ${ref.session}`, async () => {
    rows = await environment.backend.store.interactions.list(ref);
    return rows.length === calls;
  });
  return rows;
}

const EDITED = "!";

/** Builds a decision. An edit changes the key that the tool writes, so that the effect shows which arguments ran. */
export function createDecision(
  row: Interaction,
  decision: ApprovalDecision["decision"],
  by: string,
): ApprovalDecision {
  const [action] = (row.request as unknown as { actions: { input: { key: string } }[] }).actions;
  const input = { ...action?.input, key: `${action?.input.key}${EDITED}` };
  const digest = row.digest === null ? {} : { digest: row.digest };
  return { key: row.key, decision, userId: by, ...digest, ...(decision === "edit" ? { input } : {}) };
}

/** The outcome of one call. */
export interface Outcome {
  readonly key: string;
  readonly status: string;
  /** How often its tool ran with the original arguments and with the edited ones. */
  readonly plain: number;
  readonly edited: number;
  readonly result: "success" | "unknown" | "error";
}

/** @param effects how often each tool ran, by the key in its arguments */
export async function readOutcomes(
  environment: TurnEnvironment,
  ref: SessionRef,
  turn: Turn,
  events: readonly SessionEvent[],
  effects: ReadonlyMap<string, number>,
  problems: string[],
): Promise<Outcome[]> {
  const rows = await environment.backend.store.interactions.list(ref);
  const outcomes: Outcome[] = [];
  for (const row of rows) {
    const changes = await environment.backend.store.interactions.changes(ref, row.id);
    const { block, call, status } = row;
    const updates = events.filter((event) => event.type === "approval.update" && event.block === block);
    const asked = events.filter((event) => event.type === "approval.request" && event.call === call);
    const { key } = (row.request as unknown as { actions: { input: { key: string } }[] }).actions[0]
      ?.input ?? {
      key: "?",
    };
    const [update] = updates;
    if (changes.length !== 1) problems.push(`${key}: ${changes.length} changes instead of 1`);
    if (asked.length !== 1) problems.push(`${key}: requested ${asked.length} times`);
    if (updates.length !== 1) problems.push(`${key}: ${updates.length} decision events`);
    if (update?.type === "approval.update" && update.status !== status)
      problems.push(`${key}: the log has ${update.status}, the store has ${status}`);
    const results = listBlocks(turn).filter((each) => each.kind === "tool_result" && each.call === call);
    const [shown] = results;
    if (results.length !== 1) problems.push(`${key}: ${results.length} results`);
    const preview = shown?.kind === "tool_result" ? shown.preview : "";
    const isGood = shown?.kind === "tool_result" && shown.status === "success";
    const result = isGood ? "success" : preview === UNKNOWN ? "unknown" : "error";
    const plain = effects.get(key) ?? 0;
    outcomes.push({ key, status, plain, edited: effects.get(`${key}${EDITED}`) ?? 0, result });
  }
  return outcomes;
}
