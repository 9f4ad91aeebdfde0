/**
 * `checkPayment` compares a payment that has ended with what happened to it: in the store, at the provider, in the log
 * and in the turn that follows. Read-only.
 *
 * Invariant: whatever was killed, lost or repeated, the payment has one order with one outcome, each of its committed
 * states is in the log once and in order, and its outcome has started one turn.
 */
import { type Payment, paymentsOf } from "@turnstream/payments";
import { listBlocks, type SessionEvent, type SessionState } from "@turnstream/protocol";
import { TRANSITIONS } from "@turnstream/protocol/writer";
import type { Backend, SessionRef } from "@turnstream/server";
import type { SandboxOrder } from "@turnstream/payments/sandbox";
import type { Figures } from "./figures.ts";
import type { TurnEnvironment } from "./turn-environment.ts";

export type Ending = "succeeded" | "failed" | "cancelled" | "expired";

/** The figures of the check. */
export const PAYMENT_CHECKS = {
  "payments doubled, lost, wrong or moved backwards": { exactly: 0 },
  "committed states that are not in the log once and in order": { exactly: 0 },
  "outcomes that did not start exactly one turn": { exactly: 0 },
  "events that broke a rule": { exactly: 0 },
} as const;

type PaymentFigures = Pick<Figures<keyof typeof PAYMENT_CHECKS>, "report">;

export interface ExpectedPayment {
  readonly amount: number;
  readonly ending: Ending;
  /** True if the provider reported a success after the payment had expired. */
  readonly isPaidLate: boolean;
  /** The final text of the plan. */
  readonly final: string;
}

/** @param order the payment's order at the provider; undefined if its checkout was never opened */
export async function checkPayment(
  turns: TurnEnvironment,
  ref: SessionRef,
  order: SandboxOrder | undefined,
  expected: ExpectedPayment,
  figures: PaymentFigures,
): Promise<void> {
  const [payment, ...others] = await paymentsOf(turns.backend.store).list(ref);
  if (payment === undefined) throw new Error(`${ref.session} has no payment`);
  const { state, events, illegal } = await turns.checkSession(ref);
  const about = (problem: string) => `${payment.id}: ${problem}`;
  figures.report("payments doubled, lost, wrong or moved backwards", [
    ...others.map(({ id }) => about(`is doubled by ${id}`)),
    ...checkOrder(payment, order, expected).map(about),
  ]);
  await checkPath(turns.backend, ref, payment, events, figures);
  const requests = events.filter((event) => event.type === "payment.request" && event.payment === payment.id);
  if (requests.length !== 1)
    figures.report("committed states that are not in the log once and in order", [
      about(`was requested ${requests.length} times`),
    ]);
  const next = checkTurns(payment, state, expected);
  figures.report("outcomes that did not start exactly one turn", next.map(about));
  figures.report("events that broke a rule", illegal);
}

function checkOrder(
  { status, amount, flag }: Payment,
  order: SandboxOrder | undefined,
  { ending, isPaidLate, ...expected }: ExpectedPayment,
): string[] {
  const problems: string[] = [];
  if (status !== ending) problems.push(`is ${status}, expected ${ending}`);
  if (amount !== expected.amount) problems.push(`has ${amount}, expected ${expected.amount}`);
  const wanted = isPaidLate ? "late_success" : null;
  if (flag !== wanted) problems.push(`has the flag ${flag}, expected ${wanted}`);
  if (order === undefined) return problems;
  if (order.amount !== expected.amount) problems.push(`the provider has ${order.amount}`);
  const isPaid = ending === "succeeded" || isPaidLate;
  if ((order.status === "paid") !== isPaid) problems.push(`the order of the provider is ${order.status}`);
  return problems;
}

/** Checks that the status went forward, that all rows are there, and that the log has each status once and in order. */
export async function checkPath(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  { id, status }: Payment,
  events: readonly SessionEvent[],
  figures: PaymentFigures,
): Promise<void> {
  const rows = await paymentsOf(store).changes(ref, id);
  const shown = (await store.interactions.changes(ref, id)).map((change) => change.status).join();
  const steps = rows.filter(({ outcome }) => outcome === "changed");
  const path = ["pending", ...steps.map(({ to }) => to)];
  const isForward = steps.every(
    ({ from, to }, at) => from === path[at] && TRANSITIONS.payment[from]?.includes(to) === true,
  );
  const taken = `${path.join()} with the changes ${rows.map(({ n }) => n).join()}`;
  const isRight =
    isForward &&
    rows.every(({ n }, at) => n === at + 1) &&
    path.filter((each) => each === "succeeded").length <= 1 &&
    path.at(-1) === status &&
    shown === path.slice(1).join();
  if (!isRight)
    figures.report("payments doubled, lost, wrong or moved backwards", [
      `${id}: is ${status} after ${taken}, and its interaction after ${shown}`,
    ]);
  const updates = events.filter((event) => event.type === "payment.update");
  const logged = updates.map((event) => event.status).join();
  if (logged !== shown || updates.some(({ version }, at) => version !== at + 1))
    figures.report("committed states that are not in the log once and in order", [
      `${id}: the log has ${logged}, committed was ${shown}`,
    ]);
}

function checkTurns({ id }: Payment, state: SessionState, { final, ending }: ExpectedPayment): string[] {
  const next = state.turns.toArray().filter(({ message }) => message?.resumes === id);
  if (next.length !== 1) return [`started ${next.length} turns`];
  const texts = next
    .flatMap((turn) => listBlocks(turn))
    .flatMap((block) => (block.kind === "text" ? [block.text] : []));
  return texts.join("|") === `${final}: ${ending}` ? [] : [`the next turn wrote ${texts.join("|")}`];
}
