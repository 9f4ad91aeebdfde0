/**
 * `addPayments` adds `turnstream payments`: with `list`, `show` and `resolve` operators find the payments that need a
 * decision, read what happened, and resolve their flags.
 * Invariant: an unknown tenant or payment is an error, not an empty result. Resolving a flag changes no status and moves
 * no money. Output has one line per payment or change, and no checkout URL.
 */
import type { Payment, PaymentChange } from "@turnstream/payments";
import { isStoreError } from "@turnstream/server/internal";
import type { Command } from "commander";
import { CommandError, UsageError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { importFeature } from "../import-feature.ts";
import { requireTenant, withStore } from "../open-backend.ts";

const PAGE = 100;
/** What the audit shows as it is. It stores other texts as a hash. */
const OPERATOR = /^[\w.:/-]{1,256}$/;

interface TenantOptions {
  readonly tenant: string;
}

interface ResolveOptions extends TenantOptions {
  readonly note: string;
  readonly by: string;
}

export function addPayments(program: Command, context: CliContext): void {
  const payments = program
    .command("payments")
    .description("find and resolve payments that need a decision")
    .addHelpText("after", FLAGS)
    .addHelpText("after", examples([LIST_EXAMPLE, RESOLVE_EXAMPLE]));
  const add = (name: string, description: string) =>
    payments.command(name).description(description).requiredOption("--tenant <id>", "the tenant");
  add("list", "list payments, the newest first: id, flag, status, amount, order number, provider, session")
    .requiredOption("--flagged", "only payments with an unresolved flag")
    .addHelpText("after", FLAGS)
    .addHelpText("after", examples([LIST_EXAMPLE]))
    .action(action(context, listPayments));
  add("show", "show a payment and its changes, the oldest first")
    .argument("<payment>", "id of the payment")
    .addHelpText("after", examples(["turnstream payments show --tenant acme pay_7"]))
    .action(action(context, showPayment));
  add("resolve", "resolve the flag after you have decided; the status stays, and no money moves")
    .argument("<payment>", "id of the payment")
    .requiredOption("--note <text>", "what was decided, for the audit")
    .option("--by <operator>", "who decided", "cli")
    .addHelpText("after", examples([RESOLVE_EXAMPLE]))
    .action(action(context, resolvePayment));
}

const FLAGS = `
A payment is flagged late_success if the payment provider reports a success after the payment failed, was
cancelled or had expired, and mismatch if it reports another amount or currency. Amounts are in the smallest
unit that providers accept for the currency.`;
const LIST_EXAMPLE = "turnstream payments list --flagged --tenant acme";
const RESOLVE_EXAMPLE =
  'turnstream payments resolve --tenant acme pay_7 --note "Refunded at the provider." --by linh';

function importPayments() {
  return importFeature("payments", () => import("@turnstream/payments"));
}

/** Prints the payments with an unresolved flag, the newest first. */
async function listPayments(call: CommandCall, { tenant }: TenantOptions): Promise<void> {
  const { paymentsOf } = await importPayments();
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const payments: Payment[] = [];
    for (let before: number | undefined; ;) {
      const page = { limit: PAGE, ...(before === undefined ? {} : { before }) };
      const found = await paymentsOf(store).flagged(tenant, page);
      payments.push(...found);
      before = found.at(-1)?.n;
      if (found.length < PAGE) break;
    }
    call.print(payments.map(toJson), payments.map(describePayment));
  });
}

/** Prints a payment and its changes, the oldest first. */
async function showPayment(call: CommandCall, { tenant }: TenantOptions, id = ""): Promise<void> {
  const { paymentsOf } = await importPayments();
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const payment = await paymentsOf(store).getInTenant(tenant, id);
    if (payment === null) throw missing(tenant, id);
    const { flagResolvedAt, flagResolvedBy, flagNote } = payment;
    const resolved =
      flagResolvedAt === null ? [] : [`resolved\t${toTime(flagResolvedAt)}\t${flagResolvedBy}\t${flagNote}`];
    const changes = await paymentsOf(store).changes({ tenant, session: payment.session }, id);
    call.print({ ...toJson(payment), changes }, [
      describePayment(payment),
      ...resolved,
      ...changes.map(describeChange),
    ]);
  });
}

async function resolvePayment(
  call: CommandCall,
  { tenant, note, by }: ResolveOptions,
  id = "",
): Promise<void> {
  if (note.trim() === "") throw new UsageError("--note must not be empty.");
  if (!OPERATOR.test(by)) throw new UsageError("--by must have 1 to 256 letters, digits or _ . : / -");
  const { resolveFlag } = await importPayments();
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const { resolved } = await resolveFlag({ store }, tenant, id, { by, note }).catch((error: unknown) => {
      throw isStoreError(error, "NOT_FOUND") ? missing(tenant, id) : error;
    });
    if (!resolved) throw new CommandError(`Payment ${id} has no unresolved flag.`);
  });
  call.print({ id, resolved: true }, ["Resolved."]);
}

/** The fields that an operator decides by. */
function toJson(payment: Payment) {
  const { id, flag, status, amount, currency, orderNo, provider, session } = payment;
  const { flagResolvedAt, flagResolvedBy, flagNote } = payment;
  return {
    id,
    flag,
    status,
    amount,
    currency,
    orderNo,
    provider,
    session,
    flagResolvedAt,
    flagResolvedBy,
    flagNote,
  };
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
