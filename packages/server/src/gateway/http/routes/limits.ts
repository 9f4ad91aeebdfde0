/**
 * `limitRoutes` show the limits of a caller, and let API keys with the scope `admin` read and set the limits of their
 * tenant and its users.
 * Invariant: every query uses the caller's tenant. A key can lower the limits of its own tenant, and never raise them
 * above what the operator has set (limits/resolve-limits.ts). Names and ranges come from the table `LIMITS`.
 */
import { z } from "zod";
import { setLimits } from "../../../session/limits.ts";
import { isId } from "../../../util/names.ts";
import {
  fromWireName,
  limitNames,
  type LimitName,
  type LimitTarget,
  type LimitValues,
  LIMITS,
  MAX_LIMIT,
  toWireName,
} from "../../../store/rules/limits.ts";
import type { RouteResult } from "../../context.ts";
import { RequestError } from "../../errors.ts";
import { type Route, type RouteContext, defineRoute } from "../route.ts";

/** Null for no limit. */
function valuesSchema(names: readonly LimitName[]) {
  const fields = names.map((name) => {
    const { isDecimal = false } = LIMITS[name] as { readonly isDecimal?: boolean };
    const value = (isDecimal ? z.number() : z.int()).min(0).max(MAX_LIMIT);
    return [toWireName(name), value.nullable().exactOptional()] as const;
  });
  return z.strictObject(Object.fromEntries(fields));
}

type WireValues = Readonly<Record<string, number | null | undefined>>;

const own = defineRoute({
  method: "GET",
  path: "/limits",
  summary: "Returns the limits of the caller's user. `null` means that there is no limit.",
  scope: "read",
  responseSchema: z.strictObject({ limits: valuesSchema(limitNames("user")) }),
  handle: async ({ context, caller }) => ({
    status: 200,
    json: { limits: toWire((await context.limiter.limitsOf(caller)).user) },
  }),
});

interface LimitRoutes {
  readonly path: string;
  readonly getSummary: string;
  readonly putSummary: string;
  readonly names: readonly LimitName[];
  readonly target: (routeContext: LimitContext) => LimitTarget;
}

/** Returns the routes that read and replace the limits of one target. */
function defineLimitRoutes({ path, getSummary, putSummary, names, target }: LimitRoutes): readonly Route[] {
  const limits = valuesSchema(names);
  const shared = {
    path,
    scope: "admin",
    responseSchema: z.strictObject({
      limits: limits.describe("the limits that apply"),
      set: limits.describe("those that were set with this route"),
    }),
  } as const;
  return [
    defineRoute({
      ...shared,
      method: "GET",
      summary: getSummary,
      handle: async (routeContext) => readLimits(routeContext, target(routeContext)),
    }),
    defineRoute({
      ...shared,
      method: "PUT",
      summary: putSummary,
      body: z.strictObject({ limits }),
      handle: async (routeContext) =>
        writeLimits(routeContext, target(routeContext), routeContext.body.limits),
    }),
  ];
}

type LimitContext = Pick<RouteContext<unknown, unknown>, "context" | "caller" | "params">;

function oneUser({ params }: LimitContext): LimitTarget {
  const { user = "" } = params;
  if (!isId(user)) throw new RequestError("BAD_REQUEST", "The user must have 1 to 256 characters.");
  return { scope: "user", user };
}

async function writeLimits(
  routeContext: LimitContext,
  target: LimitTarget,
  limits: WireValues,
): Promise<RouteResult> {
  const { context, caller } = routeContext;
  const values = fromWire(limits);
  await setLimits(context, caller.tenant, { target, source: "admin", values, by: caller.user });
  context.limiter.forget(caller.tenant);
  return readLimits(routeContext, target);
}

async function readLimits({ context, caller }: LimitContext, target: LimitTarget): Promise<RouteResult> {
  const { tenant } = caller;
  const user = target.scope === "user" ? target.user : null;
  const stored = await (user === null
    ? context.store.limits.list(tenant)
    : context.store.limits.find({ tenant, user }));
  const isOf = (of: LimitTarget) =>
    of.scope === "tenant" ? target.scope === "tenant" : target.scope === "user" && of.user === user;
  const set = stored.filter((limit) => limit.source === "admin" && isOf(limit.target));
  // Without a user, the limits are those of a user without limits of their own.
  const effective = await context.limiter.limitsOf({ tenant, user: user ?? "" });
  return {
    status: 200,
    json: {
      limits: toWire(effective[target.scope]),
      set: toWire(Object.fromEntries(set.map(({ name, value }) => [name, value]))),
    },
  };
}

function toWire(values: Readonly<Partial<Record<LimitName, number | null>>>): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [toWireName(name as LimitName), value ?? null]),
  );
}

function fromWire(values: WireValues): LimitValues {
  const entries = Object.entries(values).flatMap(([wireName, value]) => {
    const name = fromWireName(wireName);
    return name === null || value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries) as LimitValues;
}

export const limitRoutes: readonly Route[] = [
  own,
  ...defineLimitRoutes({
    path: "/limits/tenant",
    getSummary: "Returns the limits of the tenant, for all its users together.",
    putSummary: "Replaces the limits of the tenant. They can't exceed those that the operator has set.",
    names: limitNames("tenant"),
    target: () => ({ scope: "tenant" }),
  }),
  ...defineLimitRoutes({
    path: "/limits/users",
    getSummary: "Returns the limits of each user who has no limits of their own.",
    putSummary: "Replaces the limits of each user of the tenant.",
    names: limitNames("user"),
    target: () => ({ scope: "user", user: null }),
  }),
  ...defineLimitRoutes({
    path: "/limits/users/{user}",
    getSummary: "Returns the limits of one user.",
    putSummary: "Replaces the limits of one user. An empty object removes them.",
    names: limitNames("user"),
    target: oneUser,
  }),
];
