/**
 * `usageRoutes` return what a user, an API key or a tenant has used, by day and model.
 * Invariant: a caller reads its own usage. The usage of another user, of a key or of the whole tenant needs the scope
 * `admin`, which tokens of users can't have.
 */
import { z } from "zod";
import { isId } from "../../../util/names.ts";
import { requireScope } from "../../auth/access.ts";
import { RequestError } from "../../errors.ts";
import { type Route, defineRoute } from "../route.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;

const day = z.iso.date();
const query = { from: day.exactOptional(), to: day.exactOptional() };
const id = z.string().refine(isId, "must have 1 to 256 characters").exactOptional();
const usageJson = z.strictObject({
  days: z.array(
    z.strictObject({
      day: z.string(),
      model: z.string(),
      turns: z.int(),
      calls: z.int(),
      input_tokens: z.int(),
      output_tokens: z.int(),
      total_tokens: z.int(),
      cost: z.number().describe("in the currency of the agents' pricing"),
    }),
  ),
});

const ofUser = defineRoute({
  method: "GET",
  path: "/usage",
  summary:
    "Returns the usage of the caller's user, or of `user` with the scope `admin`, by day (UTC) and model. Without `from`, of the last 30 days.",
  scope: "read",
  query: z.strictObject({ ...query, user: id }),
  responseSchema: usageJson,
  async handle({ context, caller, query: { user = caller.user, ...range } }) {
    if (user !== caller.user) requireScope(caller, "admin");
    const { from, to } = toRange(range, context.env.now());
    const days = await context.store.usage.listUser({ tenant: caller.tenant, user }, from, to);
    return { status: 200, json: { days } };
  },
});

const ofTenant = defineRoute({
  method: "GET",
  path: "/usage/tenant",
  summary:
    "Returns the usage of the whole tenant, or of the API key with the id `key`, by day (UTC) and model.",
  scope: "admin",
  query: z.strictObject({ ...query, key: id }),
  responseSchema: usageJson,
  async handle({ context, caller: { tenant }, query: { key, ...range } }) {
    const { usage } = context.store;
    const { from, to } = toRange(range, context.env.now());
    const days = await (key === undefined
      ? usage.list(tenant, from, to)
      : usage.listKey(tenant, key, from, to));
    return { status: 200, json: { days } };
  },
});

function toRange(
  { from, to }: { readonly from?: string; readonly to?: string },
  now: number,
): { readonly from: string; readonly to: string } {
  const end = to ?? toDay(now);
  const start = from ?? toDay(Date.parse(end) - (DEFAULT_DAYS - 1) * DAY_MS);
  const days = (Date.parse(end) - Date.parse(start)) / DAY_MS + 1;
  if (days < 1 || days > MAX_DAYS)
    throw new RequestError("BAD_REQUEST", `from and to must be 1 to ${MAX_DAYS} days, got ${days}.`);
  return { from: start, to: end };
}

function toDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

export const usageRoutes: readonly Route[] = [ofUser, ofTenant];
