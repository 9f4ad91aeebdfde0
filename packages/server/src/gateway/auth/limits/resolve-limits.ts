/**
 * `resolveLimits` decides which limits apply to a caller: those of the code, those stored for the tenant or the user,
 * or the defaults. `validateCallerLimits` checks the option. Pure.
 * Invariant: the most specific value of a user applies: own, each user of the tenant, code, default. A tenant's own
 * API key can lower the limits of the tenant, and never raise them above what the operator has set.
 */
import type { StoredLimit } from "../../../store/ports/limits.ts";
import type { Actor } from "../../../util/refs.ts";
import {
  defaultLimit,
  findLimitProblem,
  LIMIT_SCOPES,
  limitNames,
  lowerLimit,
  type LimitName,
  type LimitNameOf,
  type LimitScope,
  type LimitValues,
} from "../../../store/rules/limits.ts";

/** Limits in code. Each value replaces the default; null removes a limit. Stored limits take precedence. */
export interface CallerLimitOptions {
  /** For each network address, before sign-in. */
  readonly address?: LimitValues<"address">;
  /** For each API key, together with the tokens that it has issued. */
  readonly key?: LimitValues<"key">;
  /** For each user. */
  readonly user?: LimitValues<"user">;
  /** For each tenant, with all its users together. */
  readonly tenant?: LimitValues<"tenant">;
  /** For this process. */
  readonly gateway?: LimitValues<"gateway">;
  /** For single tenants, by id. They take precedence over the limits above. */
  readonly tenants?: Readonly<Record<string, TenantLimitOptions>>;
}

interface TenantLimitOptions {
  /** For the whole tenant. */
  readonly tenant?: LimitValues<"tenant">;
  /** For each user of the tenant. */
  readonly user?: LimitValues<"user">;
  /** For single users, by id. */
  readonly users?: Readonly<Record<string, LimitValues<"user">>>;
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
  { tenant, user }: Actor,
): CallerLimitSet {
  const ofTenant = getOwn(options.tenants, tenant) ?? {};
  const own = collect(stored, (of) => of.scope === "user" && of.user === user);
  const each = collect(stored, (of) => of.scope === "user" && of.user === null);
  const whole = collect(stored, (of) => of.scope === "tenant");
  const userLayers = [
    merge(own),
    getOwn(ofTenant.users, user) ?? {},
    merge(each),
    ofTenant.user ?? {},
    options.user ?? {},
  ];
  const operatorLayers = [whole.operator, ofTenant.tenant ?? {}, options.tenant ?? {}];
  return {
    key: resolveScope("key", [options.key ?? {}]),
    user: resolveScope("user", userLayers),
    tenant: lowerAll(resolveScope("tenant", operatorLayers), whole.admin),
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

function lowerAll(limits: EffectiveLimits<"tenant">, admin: Values): EffectiveLimits<"tenant"> {
  const entries = Object.entries(limits).map(([name, value]) => [
    name,
    lowerLimit(value, admin[name as LimitName]) ?? null,
  ]);
  return Object.fromEntries(entries) as EffectiveLimits<"tenant">;
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

/** The lower one applies if both are set. */
function merge({ operator, admin }: BySource): Values {
  const names = new Set([...Object.keys(operator), ...Object.keys(admin)]) as Set<LimitName>;
  return Object.fromEntries([...names].map((name) => [name, lowerLimit(operator[name], admin[name])]));
}

/** Ids come from outside and can be the name of something that every object has. */
function getOwn<T>(of: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined;
}

/** @throws RangeError that names the option */
export function validateCallerLimits(options: CallerLimitOptions): void {
  for (const scope of LIMIT_SCOPES) validateScope(scope, options[scope] ?? {}, `callerLimits.${scope}`);
  for (const [id, { tenant = {}, user = {}, users = {} }] of Object.entries(options.tenants ?? {})) {
    const path = `callerLimits.tenants.${id}`;
    validateScope("tenant", tenant, `${path}.tenant`);
    validateScope("user", user, `${path}.user`);
    for (const [name, values] of Object.entries(users))
      validateScope("user", values, `${path}.users.${name}`);
  }
}

function validateScope(scope: LimitScope, values: Values, path: string): void {
  for (const [name, value] of Object.entries(values)) {
    const problem = value === undefined ? null : findLimitProblem(scope, name, value);
    if (problem !== null) throw new RangeError(`\`${path}\`: ${problem}.`);
  }
}
