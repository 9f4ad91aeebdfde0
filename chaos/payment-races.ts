/**
 * `paymentRaces` tests promise 16 on PostgreSQL and Redis: notifications, answers to queries, openings, cancellations
 * and expiries of one payment arrive at the same time, repeated and in any order, over the connections of four backends.
 *
 * Invariant: a payment only moves forward and succeeds at most once. Each committed status is in the log once and in
 * order, and an outcome adds at most one message that starts the next turn.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createSession, type SessionRef } from "@turnstream/server";
import {
  applyReport,
  cancelPayment,
  checkDuePayments,
  openCheckout,
  type PaymentBackend,
} from "@turnstream/server/internal";
import type { PaymentProvider, ProviderReport } from "@turnstream/server/payments";
import { type Payment, systemEnv } from "@turnstream/server/ports";
import { startPaymentSandbox } from "@turnstream/server/testing";
import { openBackend, startBackend, type TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { readAllEvents } from "@turnstream/testkit/backend/read-all-events.ts";
import { checkPath, checkUpdates, readPath } from "./payment-check.ts";
import type { Figure, RunOptions, Scenario } from "./scenario.ts";

const BACKENDS = 4;
const INPUTS = 10;
const AT_ONCE = 4;
const LONGEST_MS = 50;
const ACTOR = { tenant: "chaos", user: "user-1" };
const MONEY = { amount: 1200, currency: "TWD" };
const PLACE = { turn: "t1", run: "main", block: "pay", index: 0 } as const;
const KINDS = [
  "open",
  "processing",
  "succeeded",
  "succeeded",
  "answer",
  "failed",
  "wrong",
  "refunded",
  "cancel",
  "due",
] as const;
/** These statuses start the next turn. An expired payment does so only if nothing followed it, which has its own test. */
const CONTINUING = ["succeeded", "failed", "cancelled"];

interface Asked {
  readonly ref: SessionRef;
  readonly payment: Payment;
  readonly token: string;
}

interface Found {
  inputs: number;
  readonly ends: Record<string, number>;
  readonly wrong: string[];
  readonly unshown: string[];
  readonly messages: string[];
  readonly failures: string[];
}

async function run({ times, random, progress }: RunOptions): Promise<Figure[]> {
  const started = await startBackend();
  const sandbox = await startPaymentSandbox({ behavior: { notify: "never" } });
  const { databaseUrl, redisUrl } = started;
  // On a busy machine the inputs of a payment wait longer for each other than the default timeouts allow.
  const database = { max: INPUTS, timeouts: { connectMs: 60_000, lockMs: 60_000 } };
  const opened: TestBackend[] = await Promise.all(
    Array.from({ length: BACKENDS }, () => openBackend({ databaseUrl, redisUrl, database })),
  );
  const found: Found = { inputs: 0, ends: {}, wrong: [], unshown: [], messages: [], failures: [] };
  const backends = opened.map((backend) => toPaymentBackend(backend, sandbox.provider(), found));
  try {
    await started.store.tenants.create({ id: ACTOR.tenant, name: "Chaos" });
    for (let n = 0; n < times; n += AT_ONCE) {
      const lot = Array.from({ length: Math.min(AT_ONCE, times - n) }, (_, at) =>
        race(started, backends, { n: n + at, random, found }),
      );
      await Promise.all(lot);
      if (n % 40 === 0) progress(`${n + lot.length} of ${times}: ${JSON.stringify(found)}`.slice(0, 400));
    }
  } finally {
    await Promise.all(opened.map((backend) => backend.close()));
    await sandbox.close();
    await started.close();
  }
  for (const problem of [...found.wrong, ...found.unshown, ...found.messages, ...found.failures].slice(0, 20))
    progress(problem);
  return [
    { figure: "payments", value: times, exactly: times },
    { figure: "inputs", value: found.inputs, exactly: times * INPUTS },
    ...["pending", "processing", "succeeded", "failed", "cancelled", "expired"].map((status) => ({
      figure: `ended as ${status}`,
      value: found.ends[status] ?? 0,
      ...(status === "pending" || status === "processing" ? {} : { atLeast: Math.floor(times / 50) }),
    })),
    {
      figure: "payments that moved backwards, succeeded twice or lost a change",
      value: found.wrong.length,
      exactly: 0,
    },
    {
      figure: "committed states that are not in the log once and in order",
      value: found.unshown.length,
      exactly: 0,
    },
    { figure: "outcomes without exactly one message", value: found.messages.length, exactly: 0 },
    { figure: "inputs that failed", value: found.failures.length, exactly: 0 },
  ];
}

function toPaymentBackend(
  { store, log, signals }: TestBackend,
  provider: PaymentProvider,
  found: Found,
): PaymentBackend {
  return {
    store,
    log,
    signals,
    payments: { providers: [provider], publicUrl: "http://127.0.0.1:9" },
    env: systemEnv,
    onError: (error, { during }) => found.failures.push(`${during}: ${String(error)}`),
  };
}

interface Race {
  readonly n: number;
  readonly random: () => number;
  readonly found: Found;
}

async function race(
  backend: TestBackend,
  backends: readonly PaymentBackend[],
  { n, random, found }: Race,
): Promise<void> {
  const asked = await ask(backend, n % 3 === 0);
  const inputs = Array.from({ length: INPUTS }, async (_, at) => {
    // Each kind has a head start at times. Otherwise the kinds with the fewest queries would always win.
    const kind = KINDS[at === 0 ? n % KINDS.length : Math.floor(random() * KINDS.length)] ?? "due";
    const by = backends[Math.floor(random() * backends.length)] as PaymentBackend;
    if (at > 0) await sleep(random() * LONGEST_MS);
    return apply(by, asked, kind);
  });
  for (const settled of await Promise.allSettled(inputs))
    if (settled.status === "rejected") found.failures.push(String(settled.reason));
  found.inputs += inputs.length;
  const { ref, payment } = asked;
  const now = await backend.store.payments.get(ref, payment.id);
  if (now === null) throw new Error(`payment ${payment.id} does not exist`);
  const path = await readPath(backend, ref, payment.id);
  const events = await readAllEvents(backend, ref);
  const about = (problem: string) => `${payment.id}: ${problem}`;
  found.wrong.push(...checkPath(now, path).map(about));
  found.unshown.push(...checkUpdates(path, events).map(about));
  const added = events.filter((event) => event.type === "message.add" && event.resumes === payment.id).length;
  if (added !== (CONTINUING.includes(now.status) ? 1 : 0)) found.messages.push(about(`${added} messages`));
  found.ends[now.status] = (found.ends[now.status] ?? 0) + 1;
}

async function apply(backend: PaymentBackend, { ref, payment, token }: Asked, kind: (typeof KINDS)[number]) {
  const { id, orderNo } = payment;
  const { signal } = new AbortController();
  if (kind === "open") return openCheckout(backend, token, { signal });
  if (kind === "cancel") return cancelPayment(backend, ref, { payment: id, userId: ACTOR.user });
  if (kind === "due") return checkDuePayments(backend);
  const isPaid = kind === "succeeded" || kind === "answer";
  const report: ProviderReport = {
    orderNo,
    status: isPaid || kind === "wrong" ? "succeeded" : kind,
    paid: isPaid ? MONEY : kind === "wrong" ? { ...MONEY, amount: 1 } : kind === "refunded" ? MONEY : null,
    providerRef: null,
    // The answer to a query has the event of the notification.
    event: `${orderNo}:${isPaid ? "succeeded" : kind}`,
    reason: null,
  };
  const evidence = kind === "answer" ? null : Buffer.from(report.event);
  return applyReport(backend, report, { provider: "sandbox", evidence });
}

/** Commits a payment as a worker does. */
async function ask(backend: TestBackend, isOverdue: boolean): Promise<Asked> {
  const { id: session } = await createSession(backend, ACTOR, { id: `s-${randomUUID()}` }, systemEnv);
  const ref = { tenant: ACTOR.tenant, session };
  const id = `pay_${randomUUID()}`;
  const token = randomBytes(32).toString("base64url");
  const { payment } = await backend.store.transaction(async (tx) => {
    await tx.interactions.request(ref, { id, kind: "payment", ...PLACE, request: {} });
    return tx.payments.create(ref, {
      id,
      orderNo: `TS${randomBytes(12).toString("hex").toUpperCase()}`,
      tokenHash: createHash("sha256").update(token).digest("hex"),
      ...MONEY,
      provider: "sandbox",
      description: "Deposit",
      locale: "en",
      continues: true,
      agent: null,
      mode: null,
      expiresMs: isOverdue ? 1 : 3_600_000,
      queryAfterMs: 60_000,
    });
  });
  return { ref, payment, token };
}

export const paymentRaces: Scenario = {
  promise: 16,
  about: "applies notifications, answers, openings, cancellations and expiries of a payment at the same time",
  times: 1_000,
  short: 40,
  run,
};
