/**
 * Which requests a model may have made: addresses, methods and paths that the developer has named. Pure; everything that
 * is not named is refused.
 */
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import type { ToolContext } from "../define/tool.ts";
import { RuntimeError } from "../errors.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
export type HttpMethod = (typeof METHODS)[number];
export const HTTP_METHODS = METHODS;

export interface HttpRule {
  /** `https://api.example.com`, with its port where it has one. It may be a service inside. */
  readonly origin: string;
  /** GET and HEAD when absent. */
  readonly methods?: readonly HttpMethod[];
  /** Beginnings of paths; all of them when absent. */
  readonly paths?: readonly string[];
  /** Sent along, such as keys. The model never sees them. */
  readonly headers?:
    | Readonly<Record<string, string>>
    | ((
        context: ToolContext,
      ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);
  /** The header by which the service knows a request again. With it, a request may be made again after a crash. */
  readonly idempotencyHeader?: string;
}

/** Throws BAD_AGENT, when the program starts. */
export function checkRules(rules: readonly HttpRule[]): void {
  for (const { origin, paths = [] } of rules) {
    const url = URL.canParse(origin) ? new URL(origin) : null;
    const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.origin === origin;
    if (!isOrigin)
      throw new RuntimeError(
        "BAD_AGENT",
        `httpRequest allows ${origin}, which is no origin such as https://example.com`,
      );
    const bad = paths.find((path) => !path.startsWith("/"));
    if (bad !== undefined)
      throw new RuntimeError("BAD_AGENT", `httpRequest allows the path ${bad} without a / at its start`);
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

/** A slash in disguise, even twice, may be taken for a slash behind us: such a path is under none that was named. */
function isWithin(path: string, paths: readonly string[] | undefined): boolean {
  if (paths === undefined) return true;
  if (/%2f|%5c|%2e|%25|\\|;|\/\//i.test(path)) return false;
  return paths.some(
    (prefix) => path === prefix || path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`),
  );
}

/** A service that the developer has named may be reached, wherever it is. */
export function policyFor(rules: readonly HttpRule[], policy: FetchPolicy): FetchPolicy {
  const named = rules.map(({ origin }) => {
    const { hostname, port, protocol } = new URL(origin);
    return `${hostname}:${port === "" ? (protocol === "https:" ? 443 : 80) : port}`;
  });
  return { ...policy, allow: [...(policy.allow ?? []), ...named] };
}
