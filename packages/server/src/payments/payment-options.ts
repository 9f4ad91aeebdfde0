/**
 * `findPaymentOptionsProblem` validates the option `payments`, which gateway and worker share. Pure.
 *
 * Invariant: gateway and worker accept the same options, so that every payment that a worker requests has a checkout
 * page. A public address must be HTTPS, because the checkout token is part of it.
 */
import type { PaymentOptions, PaymentProvider } from "./provider.ts";

export const DEFAULT_EXPIRES_MS = 3_600_000;
export const DEFAULT_QUERY_AFTER_MS = 60_000;
/** About ten years, as for the deadlines of forms. */
const MAX_MS = 10 * 366 * 24 * 60 * 60 * 1_000;

const NAMES: readonly string[] = [
  "providers",
  "publicUrl",
  "expiresMs",
  "queryAfterMs",
] satisfies (keyof PaymentOptions)[];
const METHODS = ["checkMoney", "checkout", "readNotification", "query"] satisfies (keyof PaymentProvider)[];
const PROVIDER_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Returns what is wrong with the options, starting with the option's name, or null. */
export function findPaymentOptionsProblem(options: unknown): string | null {
  if (!isRecord(options)) return `\`payments\` must be an object, got ${show(options)}`;
  const unknown = Object.keys(options).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    return `\`payments.${unknown}\` is not an option (there are ${NAMES.join(", ")})`;
  return (
    providersProblem(options["providers"]) ??
    publicUrlProblem(options["publicUrl"]) ??
    durationProblem("expiresMs", options["expiresMs"]) ??
    durationProblem("queryAfterMs", options["queryAfterMs"])
  );
}

function providersProblem(providers: unknown): string | null {
  if (!Array.isArray(providers) || providers.length === 0)
    return `\`payments.providers\` must be a list of at least one provider, got ${show(providers)}`;
  const names = new Set<string>();
  for (const [n, provider] of (providers as readonly unknown[]).entries()) {
    const of = `\`payments.providers[${n}]\``;
    if (!isRecord(provider)) return `${of} must be a provider, got ${show(provider)}`;
    const { name } = provider;
    if (typeof name !== "string" || !PROVIDER_NAME.test(name))
      return `the name of ${of} must be a letter followed by up to 31 of a-z 0-9 -, got ${show(name)}`;
    if (names.has(name)) return `\`payments.providers\` has two providers called ${name}`;
    names.add(name);
    const missing = METHODS.find((method) => typeof provider[method] !== "function");
    if (missing !== undefined) return `${of} must have a function ${missing}, got ${show(provider[missing])}`;
  }
  return null;
}

function publicUrlProblem(publicUrl: unknown): string | null {
  const expected = "`payments.publicUrl` must be the public HTTPS address of the gateway";
  const url = typeof publicUrl === "string" ? URL.parse(publicUrl) : null;
  if (url === null) return `${expected}, got ${show(publicUrl)}`;
  const isSafe =
    url.protocol === "https:" || (url.protocol === "http:" && LOCAL_HOSTS.includes(url.hostname));
  if (!isSafe) return `${expected} (HTTP is allowed only on localhost), got ${show(publicUrl)}`;
  const isPlain = url.search === "" && url.hash === "" && url.username === "" && url.password === "";
  return isPlain ? null : `${expected}, without user, query and fragment`;
}

function durationProblem(name: string, value: unknown): string | null {
  if (value === undefined) return null;
  const isValid = typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= MAX_MS;
  return isValid ? null : `\`payments.${name}\` must be an integer from 1 to ${MAX_MS}, got ${show(value)}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === undefined) return "undefined";
  return Array.isArray(value)
    ? value.length === 0
      ? "an empty list"
      : "a list"
    : `a value of type ${typeof value}`;
}
