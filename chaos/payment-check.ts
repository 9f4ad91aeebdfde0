/**
 * `checkPayment` compares a payment that has ended with what happened to it: in the store, at the provider, in the log
 * and in the turn that follows. Read-only.
 *
 * Invariant: whatever was killed, lost or repeated, the payment has one order with one outcome, each of its committed
 * states is in the log once and in order, and its outcome has started one turn.
 */
import { listBlocks, type SessionEvent, type SessionState } from "@turnstream/protocol";
import { TRANSITIONS } from "@turnstream/protocol/writer";
import type { Backend, SessionRef } from "@turnstream/server";
import type { Payment, PaymentChange } from "@turnstream/server/ports";
import type { SandboxOrder } from "@turnstream/server/testing";
import type { Figure } from "./scenario.ts";
import type { TurnEnvironment } from "./turn-environment.ts";

export type Ending = "succeeded" | "failed" | "cancelled" | "expired";

export interface PaymentFindings {
  /** The payment is doubled, lost, wrong, or moved backwards. */
  readonly wrong: string[];
  /** A committed state is missing in the log, is in it twice, or out of order. */
  readonly unshown: string[];
  /** The outcome did not start exactly one turn, or its model read another outcome. */
  readonly turns: string[];
  /** Events that broke a rule. */
  readonly illegal: string[];
}

export function noFindings(): PaymentFindings {
  return { wrong: [], unshown: [], turns: [], illegal: [] };
}

function noneOf(figure: string, problems: readonly string[]): Figure {
  return { figure, value: problems.length, exactly: 0 };
}

export function findingFigures({ wrong, unshown, turns, illegal }: PaymentFindings): Figure[] {
  return [
    noneOf("payments doubled, lost, wrong or moved backwards", wrong),
    noneOf("committed states that are not in the log once and in order", unshown),
    noneOf("outcomes that did not start exactly one turn", turns),
    noneOf("events that broke a rule", illegal),
  ];
}

export interface ExpectedPayment {
  readonly amount: number;
  readonly ending: Ending;
  /** True if the provider reported a success after the payment had expired. */
  readonly isPaidLate: boolean;
  /** The final text of the plan. */
  readonly final: string;
}

/** @param order the payment's order at the provider; null if its checkout was never opened */
export async function checkPayment(
  turns: TurnEnvironment,
  ref: SessionRef,
  order: SandboxOrder | null,
  expected: ExpectedPayment,
  findings: PaymentFindings,
): Promise<void> {
  const { store } = turns.backend;
  const payments = await store.payments.list(ref);
  const [payment] = payments;
  if (payment === undefined || payments.length !== 1) {
    findings.wrong.push(`${ref.session}: ${payments.length} payments`);
    return;
  }
  const about = (problem: string) => `${payment.id}: ${problem}`;
  findings.wrong.push(...checkOrder(payment, order, expected).map(about));
  const path = await readPath(turns.backend, ref, payment.id);
  findings.wrong.push(...checkPath(payment, path).map(about));
  const { state, events, illegal } = await turns.checkSession(ref);
  findings.unshown.push(...[...checkRequest(payment, events), ...checkUpdates(path, events)].map(about));
  findings.turns.push(...checkTurns(payment, state, expected).map(about));
  findings.illegal.push(...illegal);
}

function checkOrder(
  { status, amount, flag }: Payment,
  order: SandboxOrder | null,
  { ending, isPaidLate, ...expected }: ExpectedPayment,
): string[] {
  const problems: string[] = [];
  if (status !== ending) problems.push(`is ${status}, expected ${ending}`);
  if (amount !== expected.amount) problems.push(`has ${amount}, expected ${expected.amount}`);
  const wanted = isPaidLate ? "late_success" : null;
  if (flag !== wanted) problems.push(`has the flag ${flag}, expected ${wanted}`);
  if (order === null) return problems;
  if (order.amount !== expected.amount) problems.push(`the provider has ${order.amount}`);
  const isPaid = ending === "succeeded" || isPaidLate;
  if ((order.status === "paid") !== isPaid) problems.push(`the order of the provider is ${order.status}`);
  return problems;
}

export interface PaymentPath {
  /** The numbers of all recorded rows. */
  readonly numbers: readonly number[];
  readonly steps: readonly PaymentChange[];
  /** The statuses of the interaction, after `pending`. */
  readonly shown: readonly string[];
}

export async function readPath(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  id: string,
): Promise<PaymentPath> {
  const rows = await store.payments.changes(ref, id);
  const changes = await store.interactions.changes(ref, id);
  const numbers = rows.map(({ n }) => n);
  const steps = rows.filter(({ outcome }) => outcome === "changed");
  return { numbers, steps, shown: changes.map(({ status }) => status) };
}

/** Checks that the status went forward, and that all rows are there. */
export function checkPath({ status }: Payment, { numbers, steps, shown }: PaymentPath): string[] {
  const problems: string[] = [];
  if (numbers.some((n, at) => n !== at + 1)) problems.push(`has the changes ${numbers.join()}`);
  const path = ["pending", ...steps.map(({ to }) => to)];
  const isForward = steps.every(
    ({ from, to }, at) => from === path[at] && TRANSITIONS.payment[from]?.includes(to) === true,
  );
  if (!isForward) problems.push(`took the path ${path.join()}`);
  if (path.filter((each) => each === "succeeded").length > 1) problems.push("succeeded twice");
  if (path.at(-1) !== status) problems.push(`is ${status} after ${path.join()}`);
  if (shown.join() !== path.slice(1).join()) problems.push(`its interaction took ${shown.join()}`);
  return problems;
}

function checkRequest({ id }: Payment, events: readonly SessionEvent[]): string[] {
  const requests = events.filter((event) => event.type === "payment.request" && event.payment === id);
  return requests.length === 1 ? [] : [`was requested ${requests.length} times`];
}

/** Checks that the log has each committed status of the session's only payment once and in order. */
export function checkUpdates({ shown }: PaymentPath, events: readonly SessionEvent[]): string[] {
  const updates = events.flatMap((event) => (event.type === "payment.update" ? [event] : []));
  const problems: string[] = [];
  if (updates.map(({ status }) => status).join() !== shown.join())
    problems.push(`the log has ${updates.map(({ status }) => status).join()}, committed was ${shown.join()}`);
  if (updates.some(({ version }, at) => version !== at + 1)) problems.push("the log has other versions");
  return problems;
}

function checkTurns({ id }: Payment, state: SessionState, { final, ending }: ExpectedPayment): string[] {
  const next = state.turns.toArray().filter(({ message }) => message?.resumes === id);
  if (next.length !== 1) return [`started ${next.length} turns`];
  const texts = next
    .flatMap((turn) => listBlocks(turn))
    .flatMap((block) => (block.kind === "text" ? [block.text] : []));
  return texts.join("|") === `${final}: ${ending}` ? [] : [`the next turn wrote ${texts.join("|")}`];
}
