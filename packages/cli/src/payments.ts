/**
 * `paymentsList`, `paymentsShow` and `paymentsResolve` are the commands of `turnstream payments`: operators find the
 * payments that need a decision, read what happened, and resolve their flags.
 * Invariant: an unknown tenant or payment is an error, not an empty result. Resolving a flag changes no status and moves
 * no money. Output has one line per payment or change, and no checkout URL.
 */
import { parseArgs } from "node:util";
import { isStoreError, type Payment, type PaymentChange, resolveFlag } from "@turnstream/server/ports";
import { requireTenant, withStore } from "./with-store.ts";
import { CommandError, UsageError, type CliContext } from "./cli-context.ts";

const TENANT = { tenant: { type: "string" } } as const;
const LIST = { ...TENANT, flagged: { type: "boolean" } } as const;
const RESOLVE = { ...TENANT, note: { type: "string" }, by: { type: "string" } } as const;
const PAGE = 100;
/** The operator that the change names, if `--by` doesn't. */
const DEFAULT_OPERATOR = "cli";
/** What the audit accepts. */
const OPERATOR = /^[\w.:/-]{1,256}$/;

/** Prints the payments with an unresolved flag, the newest first. */
export async function paymentsList(args: readonly string[], context: CliContext): Promise<void> {
  const { tenant, flagged } = parseArgs({ args: [...args], options: LIST }).values;
  if (tenant === undefined || flagged !== true) throw new UsageError("--tenant and --flagged are required.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    for (let before: number | undefined; ;) {
      const page = { limit: PAGE, ...(before === undefined ? {} : { before }) };
      const found = await store.payments.flagged(tenant, page);
      for (const payment of found) context.out(`${describePayment(payment)}\n`);
      before = found.at(-1)?.n;
      if (found.length < PAGE) return;
    }
  });
}

/** Prints a payment and its changes, the oldest first. */
export async function paymentsShow(args: readonly string[], context: CliContext): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: TENANT, allowPositionals: true });
  const { tenant } = values;
  const [id] = positionals;
  if (tenant === undefined || id === undefined || positionals.length > 1)
    throw new UsageError("Exactly one payment id and --tenant are required.");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    const payment = await store.payments.getInTenant(tenant, id);
    if (payment === null) throw missing(tenant, id);
    context.out(`${describePayment(payment)}\n`);
    if (payment.flagResolvedAt !== null)
      context.out(
        `resolved\t${toTime(payment.flagResolvedAt)}\t${payment.flagResolvedBy}\t${payment.flagNote}\n`,
      );
    const ref = { tenant, session: payment.session };
    for (const change of await store.payments.changes(ref, id)) context.out(`${describeChange(change)}\n`);
  });
}

export async function paymentsResolve(args: readonly string[], context: CliContext): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: RESOLVE, allowPositionals: true });
  const { tenant, note = "", by = DEFAULT_OPERATOR } = values;
  const [id] = positionals;
  if (tenant === undefined || id === undefined || positionals.length > 1 || note.trim() === "")
    throw new UsageError("Exactly one payment id, --tenant and --note are required.");
  if (!OPERATOR.test(by)) throw new UsageError("--by must have 1 to 256 letters, digits or _ . : / -");
  await withStore(context, async (store) => {
    await requireTenant(store, tenant);
    const { resolved } = await resolveFlag({ store }, tenant, id, { by, note }).catch((error: unknown) => {
      throw isStoreError(error, "NOT_FOUND") ? missing(tenant, id) : error;
    });
    if (!resolved) throw new CommandError(`Payment ${id} has no unresolved flag.`);
  });
  context.out("Resolved.\n");
}

function missing(tenant: string, id: string): CommandError {
  return new CommandError(`Tenant ${tenant} has no payment ${id}.`);
}

function describePayment(payment: Payment): string {
  const { id, flag, status, amount, currency, orderNo, provider, session } = payment;
  return [id, flag ?? "-", status, `${amount} ${currency}`, orderNo, provider, session].join("\t");
}

function describeChange(change: PaymentChange): string {
  const { n, at, actor, by, input, outcome, from, to, paid, reason } = change;
  const money = paid === null ? "-" : `${paid.amount} ${paid.currency}`;
  const source = by === null ? actor : `${actor} ${by}`;
  return [n, toTime(at), source, input, outcome, `${from} -> ${to}`, money, reason ?? "-"].join("\t");
}

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}
