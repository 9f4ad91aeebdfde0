/**
 * `postgresPayments` implements payments on PostgreSQL.
 *
 * Invariant: `apply` locks the session's row and then the payment's row, so the inputs of one payment run one at a
 * time. The payment, its interaction and its rows change in one transaction, at one time of the database's clock. Texts
 * that a user, a model or a provider wrote are JSON, because `text` refuses NUL.
 */
import { sql, type SqlBool, type Selectable, type Insertable } from "kysely";
import {
  ago,
  checkCount,
  checkDuration,
  checkPage,
  clock,
  clockPlus,
  type Db,
  type InteractionChange,
  interactionOf,
  inTransaction,
  lockSessionRow,
  ofSession,
  rowOf,
  type SessionRef,
  StoreError,
} from "@turnstream/server/internal";
import {
  type Payments,
  checkPayment,
  checkPaymentInput,
  MAX_PAYMENT_CHANGES,
  checkFlagResolution,
  type PaymentPage,
  type Payment,
  type NewPayment,
  type ApplyResult,
} from "./payments-part.ts";
import type { PaymentTables } from "./payment-tables.ts";
import { checkAfterChange, nextCheck } from "./payment-checks.ts";
import {
  INPUT_ACTORS,
  isStatus,
  listSteps,
  type PaymentChange,
  type PaymentInput,
  type PaymentResolution,
  type PaymentStep,
  resolvePayment,
} from "./payment-transitions.ts";

function tablesIn(db: Db) {
  return db.withTables<Pick<PaymentTables, keyof PaymentTables>>();
}

function selectPayments(db: Db) {
  return tablesIn(db).selectFrom("payments").selectAll();
}

export function postgresPayments(db: Db): Payments {
  return {
    async create(ref, payment) {
      checkPayment(payment);
      return await inTransaction(db, async (tx) => {
        await lockSessionRow(tx, ref);
        return await create(tx, ref, payment);
      });
    },

    async apply(orderNo, input) {
      checkPaymentInput(input);
      return await inTransaction(db, (tx) => apply(tx, orderNo, input));
    },

    get: (ref, id) => findBy(db, { ...rowOf(ref), id }),
    getInTenant: (tenant, id) => findBy(db, { tenant_id: tenant, id }),
    byToken: (hash) => findBy(db, { token_hash: hash }),
    byOrderNo: (orderNo) => findBy(db, { order_no: orderNo }),

    list: async (ref, page) => readPage(ofSession(selectPayments(db), ref), page),

    async changes(ref, id) {
      const rows = await ofSession(tablesIn(db).selectFrom("payments_changes"), ref)
        .where("payment_id", "=", id)
        .selectAll()
        .orderBy("n")
        .limit(MAX_PAYMENT_CHANGES)
        .execute();
      return rows.map(paymentChangeOf);
    },

    flagged: async (tenant, page) =>
      readPage(selectPayments(db).where("tenant_id", "=", tenant).where(unresolved), page),

    async resolveFlag(tenant, id, resolution) {
      checkFlagResolution(resolution);
      const { by, note } = resolution;
      const row = await tablesIn(db)
        .updateTable("payments")
        .set({ flag_resolved_at: clock, flag_resolved_by: by, flag_note: JSON.stringify(note) })
        .where("tenant_id", "=", tenant)
        .where("id", "=", id)
        .where(unresolved)
        .returningAll()
        .executeTakeFirst();
      if (row !== undefined) return { resolved: true, payment: paymentOf(row) };
      const payment = await findBy(db, { tenant_id: tenant, id });
      return payment === null ? null : { resolved: false, payment };
    },

    async due({ limit }) {
      const most = checkPage(limit);
      // Almost always none is due, and a worker asks every second.
      const due = await tablesIn(db)
        .selectFrom("payments")
        .select("id")
        .where("next_check_at", "<=", ago(0))
        .limit(1)
        .executeTakeFirst();
      return due === undefined ? [] : inTransaction(db, (tx) => claimDue(tx, most));
    },

    async claimQuery(ref, id, everyMs) {
      const { numUpdatedRows } = await ofSession(tablesIn(db).updateTable("payments"), ref)
        .set({ queried_at: clock })
        .where("id", "=", id)
        .where((eb) =>
          eb.or([
            eb("queried_at", "is", null),
            // Not `ago`: after waiting for a concurrent claim, the clock must be read again.
            eb("queried_at", "<=", sql<number>`${clockPlus(-checkDuration(everyMs, "everyMs"))}`),
          ]),
        )
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    async setProviderRef(ref, id, providerRef) {
      await ofSession(tablesIn(db).updateTable("payments"), ref)
        .set({ provider_ref: providerRef })
        .where("id", "=", id)
        .where("provider_ref", "is", null)
        .execute();
    },
  };
}

/** A literal, so that the planner can use the partial index. */
const unresolved = sql<SqlBool>`flag is not null and flag_resolved_at is null`;

/** Reads the payment with these values in its columns. They identify at most one. */
async function findBy(
  db: Db,
  columns: Partial<Selectable<PaymentTables["payments"]>>,
): Promise<Payment | null> {
  const row = await selectPayments(db)
    .where((eb) => eb.and(columns))
    .executeTakeFirst();
  return row === undefined ? null : paymentOf(row);
}

/** Reads a page of the query's payments, the newest first. */
async function readPage(
  query: ReturnType<typeof selectPayments>,
  { before, limit = 100 }: PaymentPage = {},
): Promise<Payment[]> {
  const older = before === undefined ? query : query.where("n", "<", checkCount(before, "before"));
  const rows = await older.orderBy("n", "desc").limit(checkPage(limit)).execute();
  return rows.map(paymentOf);
}

async function create(tx: Db, ref: SessionRef, payment: NewPayment) {
  const asked = await ofSession(tablesIn(tx).selectFrom("interactions"), ref)
    .select("kind")
    .where("id", "=", payment.id)
    .executeTakeFirst();
  if (asked === undefined) throw new StoreError("NOT_FOUND", "interaction of the payment");
  if (asked.kind !== "payment")
    throw new StoreError("INVALID", "interaction of the payment (of another kind)");
  // A repeat has the same.
  const order = {
    ...rowOf(ref),
    id: payment.id,
    order_no: payment.orderNo,
    token_hash: payment.tokenHash,
    amount: payment.amount,
    currency: payment.currency,
    provider: payment.provider,
  };
  const made = await tablesIn(tx)
    .insertInto("payments")
    .values({
      ...order,
      description: JSON.stringify(payment.description),
      locale: payment.locale,
      continues: payment.continues,
      agent: payment.agent,
      mode: payment.mode,
      expires_at: clockPlus(payment.expiresMs),
      check_ms: payment.queryAfterMs,
      next_check_at: clockPlus(payment.expiresMs),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (made !== undefined) return { created: true, payment: paymentOf(made) };
  const stored = await findBy(tx, order);
  if (stored === null) throw new StoreError("EXISTS", "payment");
  return { created: false, payment: stored };
}

/** Locks the session's row first, so that an erasure waits there; see `session-row.ts`. */
async function lockPayment(tx: Db, orderNo: string) {
  const locked = await tablesIn(tx)
    .selectFrom("sessions")
    .innerJoin("payments", (join) =>
      join
        .onRef("payments.tenant_id", "=", "sessions.tenant_id")
        .onRef("payments.session_id", "=", "sessions.id"),
    )
    .select("sessions.id")
    .where("order_no", "=", orderNo)
    .forKeyShare("sessions")
    .executeTakeFirst();
  if (locked === undefined) return undefined;
  return await selectPayments(tx).where("order_no", "=", orderNo).forNoKeyUpdate().executeTakeFirst();
}

/** Returns the time, the last row and whether the event is recorded. Read after the payment is locked. */
async function readRecorded(tx: Db, payment: Payment, input: PaymentInput) {
  const rows = ofSession(tablesIn(tx).selectFrom("payments_changes"), payment).where(
    "payment_id",
    "=",
    payment.id,
  );
  const { provider = null, event = null } = "event" in input ? input : {};
  const repeats = rows.where("provider", "=", provider).where("event", "=", event).select("n");
  return await tablesIn(tx)
    .selectNoFrom((eb) => [
      sql<number>`clock_timestamp()::timestamptz(3)`.as("now"),
      rows.select((of) => of.fn.max("n").as("n")).as("last"),
      eb.exists(repeats).as("is_repeat"),
    ])
    .executeTakeFirstOrThrow();
}

async function apply(tx: Db, orderNo: string, input: PaymentInput): Promise<ApplyResult> {
  const row = await lockPayment(tx, orderNo);
  if (row === undefined) return { outcome: "unknown" };
  const payment = paymentOf(row);
  const { now, last, is_repeat } = await readRecorded(tx, payment, input);
  if (is_repeat === true) return { outcome: "unchanged", payment };
  const resolution = resolvePayment({ ...payment, isOverdue: payment.expiresAt <= now }, input);
  if (resolution.outcome === "unchanged") return { outcome: "unchanged", payment };
  const at = new Date(now);
  const columns = changedColumns(payment, input, resolution, at);
  const check = checkAfterChange(payment, { ...payment, ...columns }, row.check_ms, now);
  const changed = await ofSession(tablesIn(tx).updateTable("payments"), payment)
    .set({
      ...columns,
      ...(check === null ? {} : { check_ms: check.checkMs, next_check_at: toDate(check.nextCheckAt) }),
    })
    .where("id", "=", payment.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const rows = await tablesIn(tx)
    .insertInto("payments_changes")
    .values(changeRows(payment, input, listSteps(payment.status, resolution), { n: (last ?? 0) + 1, at }))
    .returningAll()
    .execute();
  const recorded = rows.map(paymentChangeOf);
  return {
    outcome: recorded.at(-1)?.outcome ?? "changed",
    payment: paymentOf(changed),
    recorded,
    fields: resolution.outcome === "mismatch" ? resolution.fields : [],
    ...(await changeInteraction(tx, payment, recorded)),
  };
}

type Recorded = Exclude<PaymentResolution, { readonly outcome: "unchanged" }>;

/** Returns the columns that an input changes. */
function changedColumns(payment: Payment, input: PaymentInput, resolution: Recorded, at: Date) {
  const newFlag = { flagged_at: at, flag_resolved_at: null, flag_resolved_by: null, flag_note: null };
  // A report that doesn't fit the order must not change anything else, not even the provider's number.
  if (resolution.outcome === "mismatch") return { flag: resolution.flag, ...newFlag };
  const status = resolution.effects.findLast(isStatus);
  return {
    refunded_amount: resolution.refundedAmount,
    // The first number stays: the provider is asked with it.
    provider_ref: payment.providerRef ?? ("providerRef" in input ? input.providerRef : null),
    ...(status === undefined ? {} : { status, changed_at: at }),
    ...(resolution.effects.includes("flagged") ? { flag: "late_success" as const, ...newFlag } : {}),
  };
}

/** Only the last row has the provider's event, because an event is unique within a payment. Each has the evidence. */
function changeRows(
  payment: Payment,
  input: PaymentInput,
  steps: readonly PaymentStep[],
  { n, at }: { readonly n: number; readonly at: Date },
): Insertable<PaymentTables["payments_changes"]>[] {
  const report = "event" in input ? input : null;
  return steps.map(({ outcome, from, to }, index) => ({
    ...rowOf(payment),
    payment_id: payment.id,
    n: n + index,
    actor: INPUT_ACTORS[input.type],
    by_user: ("by" in input ? input.by : undefined) ?? null,
    input: input.type,
    outcome,
    from_status: from,
    to_status: to,
    at,
    evidence_hash: report?.evidenceHash ?? null,
    provider: report?.provider ?? null,
    event: index === steps.length - 1 ? (report?.event ?? null) : null,
    paid_amount: report?.paid?.amount ?? null,
    paid_currency: report?.paid?.currency ?? null,
    provider_ref: report?.providerRef ?? null,
    reason: report === null || report.reason === null ? null : JSON.stringify(report.reason),
  }));
}

/** Repeats the steps of the payment in its interaction. */
async function changeInteraction(tx: Db, payment: Payment, recorded: readonly PaymentChange[]) {
  const { id } = payment;
  const steps = recorded.filter(({ outcome }) => outcome === "changed");
  const last = steps.at(-1);
  const of = ofSession(tablesIn(tx).selectFrom("interactions"), payment).selectAll().where("id", "=", id);
  if (last === undefined)
    return { interaction: interactionOf(await of.executeTakeFirstOrThrow()), changes: [] };
  const { to: status } = last;
  const at = new Date(last.at);
  const row = await ofSession(tablesIn(tx).updateTable("interactions"), payment)
    .set((eb) => ({ status, version: eb("version", "+", steps.length), changed_at: at }))
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const interaction = interactionOf(row);
  const changes = steps.map(({ to, by }, index): InteractionChange => ({
    version: interaction.version - steps.length + index + 1,
    status: to,
    by,
    reason: null,
    body: null,
    at: last.at,
  }));
  await tablesIn(tx)
    .insertInto("interaction_changes")
    .values(
      changes.map(({ version, status: to, by }) => ({
        ...rowOf(payment),
        interaction_id: id,
        version,
        status: to,
        by_user: by,
        reason: null,
        body: "null",
        at,
      })),
    )
    .execute();
  return { interaction, changes };
}

async function claimDue(tx: Db, limit: number): Promise<(Payment & { readonly overdue: boolean })[]> {
  const rows = await selectPayments(tx)
    .select(sql<number>`clock_timestamp()::timestamptz(3)`.as("now"))
    .where("next_check_at", "<=", ago(0))
    .orderBy("next_check_at")
    .orderBy("n")
    .limit(limit)
    .forNoKeyUpdate()
    .skipLocked()
    .execute();
  if (rows.length === 0) return [];
  const checks = rows.map((row) =>
    nextCheck({ status: row.status, expiresAt: row.expires_at, checkMs: row.check_ms }, row.now),
  );
  const times = checks.map(({ nextCheckAt }) => toDate(nextCheckAt));
  const column = (name: "tenant_id" | "session_id" | "id") => sql`${rows.map((row) => row[name])}::text[]`;
  const next = sql`
    unnest(${column("tenant_id")}, ${column("session_id")}, ${column("id")},
      ${checks.map(({ checkMs }) => checkMs)}::bigint[], ${times}::timestamptz[])
    as next (tenant_id, session_id, id, check_ms, next_check_at)`;
  await sql`update payments as p
    set check_ms = next.check_ms, next_check_at = next.next_check_at, queried_at = clock_timestamp()
    from ${next}
    where p.tenant_id = next.tenant_id and p.session_id = next.session_id and p.id = next.id`.execute(tx);
  return rows
    .map((row) => ({ ...paymentOf(row), overdue: row.expires_at <= row.now }))
    .toSorted((a, b) => a.n - b.n);
}

function paymentOf(row: Selectable<PaymentTables["payments"]>): Payment {
  return {
    tenant: row.tenant_id,
    session: row.session_id,
    id: row.id,
    n: row.n,
    orderNo: row.order_no,
    amount: row.amount,
    currency: row.currency,
    provider: row.provider,
    providerRef: row.provider_ref,
    description: row.description,
    locale: row.locale,
    continues: row.continues,
    agent: row.agent,
    mode: row.mode,
    status: row.status,
    refundedAmount: row.refunded_amount,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    expiresAt: row.expires_at,
    flag: row.flag,
    flaggedAt: row.flagged_at,
    flagResolvedAt: row.flag_resolved_at,
    flagResolvedBy: row.flag_resolved_by,
    flagNote: row.flag_note,
  };
}

function toDate(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

function paymentChangeOf(row: Selectable<PaymentTables["payments_changes"]>): PaymentChange {
  const { paid_amount: amount, paid_currency: currency } = row;
  return {
    n: row.n,
    actor: row.actor,
    by: row.by_user,
    input: row.input,
    outcome: row.outcome,
    from: row.from_status,
    to: row.to_status,
    at: row.at,
    evidenceHash: row.evidence_hash,
    provider: row.provider,
    event: row.event,
    paid: amount === null || currency === null ? null : { amount, currency },
    providerRef: row.provider_ref,
    reason: row.reason,
  };
}
