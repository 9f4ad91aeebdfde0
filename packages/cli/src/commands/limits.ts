/**
 * `addLimits` adds `turnstream limits`: `show`, `set` and `clear` manage the limits of a tenant and its users. `addUsage`
 * adds `turnstream usage`.
 * Invariant: names, ranges and descriptions come from the table `LIMITS`. An unknown tenant or limit is an error. What
 * an operator sets for a tenant is the most that the tenant's own keys can allow.
 */
import {
  type CallerLimits,
  defaultLimit,
  fromWireName,
  LIMITS,
  limitNames,
  type LimitName,
  type LimitTarget,
  type LimitValues,
  setLimits,
  type StoredLimit,
  toWireName,
} from "@turnstream/server/internal";
import type { Command } from "commander";
import { UsageError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { requireTenant, withStore } from "../open-backend.ts";

interface TargetOptions {
  readonly tenant: string;
  readonly user?: string;
  readonly eachUser?: boolean;
}

export function addLimits(program: Command, context: CliContext): void {
  const limits = program
    .command("limits")
    .description("show and set the limits of a tenant and its users")
    .addHelpText("after", `\n${describeLimits()}`)
    .addHelpText("after", examples([SHOW_EXAMPLE, SET_EXAMPLE, CLEAR_EXAMPLE]));
  const add = (name: string, description: string) =>
    limits
      .command(name)
      .description(description)
      .requiredOption("--tenant <id>", "the tenant")
      .option("--user <id>", "one user of the tenant")
      .option("--each-user", "each user of the tenant who has no limits of their own");
  add("show", "show the limits that are set: limit, value, who set it, default")
    .addHelpText("after", examples([SHOW_EXAMPLE]))
    .action(action(context, showLimits));
  add("set", "set limits; others stay. Gateways apply them within 5 seconds")
    .argument("<limit=value...>", "the limit and its value; `none` for no limit")
    .addHelpText("after", `\n${describeLimits()}`)
    .addHelpText("after", examples([SET_EXAMPLE, "turnstream limits set --tenant acme stored_bytes=none"]))
    .action(async (assignments: readonly string[], ...rest: unknown[]) =>
      action(context, (call, options: TargetOptions) =>
        changeLimits(call, options, parseAssignments(options, assignments)),
      )(...rest),
    );
  add("clear", "remove all limits that operators have set; the defaults apply again")
    .addHelpText("after", examples([CLEAR_EXAMPLE]))
    .action(action(context, (call, options: TargetOptions) => changeLimits(call, options, null)));
}

const SHOW_EXAMPLE = "turnstream limits show --tenant acme --user alice";
const SET_EXAMPLE =
  "turnstream limits set --tenant acme --user alice requests_per_minute=60 tokens_per_day=200000";
const CLEAR_EXAMPLE = "turnstream limits clear --tenant acme --user alice";

function describeLimits(): string {
  const names = [...new Set([...limitNames("user"), ...limitNames("tenant")])];
  const width = Math.max(...names.map((name) => toWireName(name).length));
  return [
    "Limits:",
    ...names.map((name) => `  ${toWireName(name).padEnd(width)}  ${LIMITS[name].description}`),
  ].join("\n");
}

/** @throws UsageError */
function toTarget({ user, eachUser = false }: TargetOptions): LimitTarget {
  if (user !== undefined && eachUser) throw new UsageError("Use --user or --each-user, not both.");
  if (user !== undefined) return { scope: "user", user };
  return eachUser ? { scope: "user", user: null } : { scope: "tenant" };
}

/** @throws UsageError */
function parseAssignments(options: TargetOptions, assignments: readonly string[]): LimitValues {
  const { scope } = toTarget(options);
  const known = limitNames(scope).map(toWireName).join(", ");
  const entries = assignments.map((assignment) => {
    const [, wireName = "", value = ""] = /^([a-z_]+)=(none|\d+(?:\.\d+)?)$/.exec(assignment) ?? [];
    const name = fromWireName(wireName);
    if (name === null || !limitNames(scope).some((one) => one === name))
      throw new UsageError(`${assignment} must be limit=value with a limit of a ${scope}: ${known}.`);
    return [name, value === "none" ? null : Number(value)] as const;
  });
  return Object.fromEntries(entries);
}

async function showLimits(call: CommandCall, options: TargetOptions): Promise<void> {
  const { tenant } = options;
  const isEverything = options.user === undefined && options.eachUser !== true;
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const all = await store.limits.list(tenant);
    const found = isEverything ? all : await readTarget(store.limits, tenant, toTarget(options));
    const rows = found.map(({ target, source, name, value }) => ({
      of: describeTarget(target),
      limit: toWireName(name),
      value,
      source,
      default: defaultLimit(target.scope, name),
    }));
    call.print(
      rows,
      rows.map(
        (row) =>
          `${row.of}\t${row.limit}\t${row.value ?? "none"}\t${row.source}\tdefault ${row.default ?? "none"}`,
      ),
    );
    if (rows.length === 0) call.notice("No limits are set: the defaults apply.");
  });
}

/** @param values null removes all */
async function changeLimits(
  call: CommandCall,
  options: TargetOptions,
  values: LimitValues | null,
): Promise<void> {
  const { tenant } = options;
  const target = toTarget(options);
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const before = (await readTarget(store.limits, tenant, target)).filter(
      ({ source }) => source === "operator",
    );
    const earlier = Object.fromEntries(before.map(({ name, value }) => [name, value])) as LimitValues;
    const change = values === null ? {} : { ...earlier, ...values };
    await setLimits({ store }, tenant, { target, source: "operator", values: change, by: null });
    const set = Object.entries(change).map(
      ([name, value]) => [toWireName(name as LimitName), value] as const,
    );
    call.print(
      { of: describeTarget(target), limits: Object.fromEntries(set) },
      set.length === 0 ? ["Cleared."] : set.map(([name, value]) => `${name}\t${value ?? "none"}`),
    );
  });
}

async function readTarget(limits: CallerLimits, tenant: string, target: LimitTarget): Promise<StoredLimit[]> {
  const user = target.scope === "user" ? target.user : null;
  const stored = await (user === null ? limits.list(tenant) : limits.find({ tenant, user }));
  return stored.filter((limit) => describeTarget(limit.target) === describeTarget(target));
}

function describeTarget(target: LimitTarget): string {
  if (target.scope === "tenant") return "tenant";
  return target.user === null ? "each user" : `user ${target.user}`;
}

interface UsageOptions {
  readonly tenant: string;
  readonly user?: string;
  readonly key?: string;
  readonly from: string;
  readonly to: string;
}

const USAGE_EXAMPLE = "turnstream usage --tenant acme --user alice --from 2026-11-01 --to 2026-11-30";

export function addUsage(program: Command, context: CliContext): void {
  program
    .command("usage")
    .description("show what a tenant, a user or an API key has used: day, model, turns, tokens, cost")
    .requiredOption("--tenant <id>", "the tenant")
    .option("--user <id>", "one user of the tenant. Default: the whole tenant")
    .option("--key <id>", "one API key of the tenant")
    .requiredOption("--from <day>", "first day (UTC), as YYYY-MM-DD")
    .requiredOption("--to <day>", "last day (UTC)")
    .addHelpText("after", examples([USAGE_EXAMPLE]))
    .action(action(context, showUsage));
}

async function showUsage(call: CommandCall, { tenant, user, key, from, to }: UsageOptions): Promise<void> {
  if (user !== undefined && key !== undefined) throw new UsageError("Use --user or --key, not both.");
  await withStore(call.settings, async (store) => {
    await requireTenant(store, tenant);
    const { usage } = store;
    const days = await (key !== undefined
      ? usage.listKey(tenant, key, from, to)
      : user !== undefined
        ? usage.listUser({ tenant, user }, from, to)
        : usage.list(tenant, from, to));
    call.print(
      days,
      days.map((day) => `${day.day}\t${day.model}\t${day.turns}\t${day.total_tokens}\t${day.cost}`),
    );
  });
}
