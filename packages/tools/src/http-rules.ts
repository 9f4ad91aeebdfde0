/**
 * `checkRules` validates the developer's rules for `http_request`; `ruleFor` finds the rule that allows a request.
 * Pure.
 *
 * Invariant: `ruleFor` refuses every request that no rule allows by origin, method and path. With `paths`, it also
 * refuses encoded slashes and dots. `policyFor` adds only the origins of the rules, which may be internal.
 */
import { type FetchPolicy, type ToolContext, RuntimeError } from "@turnstream/server";

export const HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

export interface HttpRule {
  /**
   * For example `https://api.example.com`, with the port if it is not the default one. It may be an internal service.
   */
  readonly origin: string;
  /** @default ["GET", "HEAD"] */
  readonly methods?: readonly HttpMethod[];
  /** Allowed path prefixes. Default: all paths. */
  readonly paths?: readonly string[];
  /** Headers to add, such as API keys. The model never sees them. */
  readonly headers?:
    | Readonly<Record<string, string>>
    | ((
        context: ToolContext,
      ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);
  /** The header that carries the idempotency key of the service. With it, a request can be repeated after a crash. */
  readonly idempotencyHeader?: string;
}

/** Runs when the agent is defined. Throws BAD_AGENT for an invalid origin or path. */
export function checkRules(rules: readonly HttpRule[]): void {
  for (const { origin, paths = [] } of rules) {
    const url = URL.canParse(origin) ? new URL(origin) : null;
    const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.origin === origin;
    if (!isOrigin)
      throw new RuntimeError(
        "BAD_AGENT",
        `\`origin\` of an httpRequest rule must be an origin such as https://example.com, got ${origin}`,
      );
    const bad = paths.find((path) => !path.startsWith("/"));
    if (bad !== undefined)
      throw new RuntimeError("BAD_AGENT", `\`paths\` of an httpRequest rule must start with "/", got ${bad}`);
  }
}

export function ruleFor(
  rules: readonly HttpRule[],
  address: string,
  method: HttpMethod,
): HttpRule | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (url.username !== "" || url.password !== "") return undefined;
  return rules.find(
    ({ origin, methods = ["GET", "HEAD"], paths }) =>
      url.origin === origin && methods.includes(method) && isWithin(url.pathname, paths),
  );
}

/**
 * Refuses encoded slashes and dots, also double-encoded ones. A server behind us may decode them and leave the allowed
 * path.
 */
function isWithin(path: string, paths: readonly string[] | undefined): boolean {
  if (paths === undefined) return true;
  if (/%2f|%5c|%2e|%25|\\|;|\/\//i.test(path)) return false;
  return paths.some(
    (prefix) => path === prefix || path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`),
  );
}

/** Allows the origins of the rules in the fetch policy, also internal ones, because the developer named them. */
export function policyFor(rules: readonly HttpRule[], policy: FetchPolicy): FetchPolicy {
  const named = rules.map(({ origin }) => {
    const { hostname, port, protocol } = new URL(origin);
    return `${hostname}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`;
  });
  return { ...policy, allow: [...(policy.allow ?? []), ...named] };
}
