/**
 * `resolveLimits` decides which limits apply to a caller: those of the code, those stored for the tenant or the user,
 * or the defaults. `callerLimits` validates the option. Pure.
 * Invariant: the most specific value of a user applies: own, each user of the tenant, code, default. A tenant's own
 * API key can lower the limits of the tenant, and never raise them above what the operator has set.
 */
import { z } from "zod";
import type { StoredLimit } from "../../store/caller-limits.ts";
import type { OptionsInput } from "../../util/parse-options.ts";
import {
  defaultLimit,
  expectedLimit,
  isLimitValue,
  limitNames,
  lowerLimit,
  type LimitName,
  type LimitNameOf,
  type LimitScope,
  type LimitValues,
} from "../../store/rules/limits.ts";

const callerLimitShape = {
  /** For each network address, before sign-in. */
  address: limitValues("address").optional(),
  /** For each API key, together with the tokens that it has issued. */
  key: limitValues("key").optional(),
  /** For each user. */
  user: limitValues("user").optional(),
  /** For each tenant, with all its users together. */
  tenant: limitValues("tenant").optional(),
  /** For this process. */
  gateway: limitValues("gateway").optional(),
};

/** Limits in code. Each value replaces the default; null removes a limit. Stored limits take precedence. */
export interface CallerLimitOptions extends OptionsInput<typeof callerLimitShape> {}

export const callerLimits: z.ZodType<CallerLimitOptions, CallerLimitOptions> =
  z.strictObject(callerLimitShape);

/** The limits of a scope, as `LIMITS` declares them. */
function limitValues<Scope extends LimitScope>(
  scope: Scope,
): z.ZodType<LimitValues<Scope>, LimitValues<Scope>> {
  const shape = Object.fromEntries(
    limitNames(scope).map((name) => {
      const expected = `${expectedLimit(name)}, or null for no limit`;
      return [name, z.custom<number | null>((value) => isLimitValue(name, value), expected).optional()];
    }),
  );
  return z.strictObject(shape) as unknown as z.ZodType<LimitValues<Scope>, LimitValues<Scope>>;
}

/** Every limit of a scope with its value; null for no limit. */
export type EffectiveLimits<Scope extends LimitScope> = Readonly<Record<LimitNameOf<Scope>, number | null>>;

export interface CallerLimitSet {
  readonly key: EffectiveLimits<"key">;
  readonly user: EffectiveLimits<"user">;
  readonly tenant: EffectiveLimits<"tenant">;
}

type Values = Readonly<Partial<Record<LimitName, number | null>>>;

/** @param stored the limits that are stored for the tenant, or those of them that concern the user */
export function resolveLimits(
  options: CallerLimitOptions,
  stored: readonly StoredLimit[],
  user: string,
): CallerLimitSet {
  const own = collect(stored, (of) => of.scope === "user" && of.user === user);
  const each = collect(stored, (of) => of.scope === "user" && of.user === null);
  const whole = collect(stored, (of) => of.scope === "tenant");
  return {
    key: resolveScope("key", [options.key ?? {}]),
    user: resolveScope("user", [
      lowerOf(own.operator, own.admin),
      lowerOf(each.operator, each.admin),
      options.user ?? {},
    ]),
    tenant: lowerOf(resolveScope("tenant", [whole.operator, options.tenant ?? {}]), whole.admin),
  };
}

/** The limits of one address or of this process, which are set in code only. */
export function resolveScope<Scope extends LimitScope>(
  scope: Scope,
  layers: readonly Values[],
): EffectiveLimits<Scope> {
  const entries = limitNames(scope).map((name): [LimitName, number | null] => {
    const layer = layers.find((values) => values[name] !== undefined);
    return [name, layer === undefined ? defaultLimit(scope, name) : (layer[name] ?? null)];
  });
  return Object.fromEntries(entries) as EffectiveLimits<Scope>;
}

interface BySource {
  readonly operator: Values;
  readonly admin: Values;
}

function collect(stored: readonly StoredLimit[], isOf: (target: StoredLimit["target"]) => boolean): BySource {
  const values = {
    operator: {} as Record<string, number | null>,
    admin: {} as Record<string, number | null>,
  };
  for (const { target, source, name, value } of stored) if (isOf(target)) values[source][name] = value;
  return values;
}

/** Returns the values of both, and the lower one of a limit that both have. */
function lowerOf<Limits extends Values>(one: Limits, other: Values): Limits {
  const entries = Object.entries(other).map(([name, value]) => [
    name,
    lowerLimit(one[name as LimitName], value),
  ]);
  return { ...one, ...Object.fromEntries(entries) };
}
