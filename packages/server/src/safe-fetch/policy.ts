/**
 * `FetchPolicy` defines which addresses a fetch may reach, and its limits. `withDefaults` fills in the defaults. Types
 * and defaults only.
 * Invariant: only the operator sets it, never a user or a model. By default no internal address can be reached, and
 * size, time and redirects are limited. Each default equals its `@default`.
 */

/** Resolves a host to addresses. Every address is checked, and connections are made to these addresses only. */
export type Lookup = (host: string) => Promise<readonly string[]>;

export interface FetchPolicy {
  /**
   * Internal services that may be reached, also by redirects, as "host:port". The port is required: "10.0.0.7:80",
   * "[::1]:3000", "search.internal:443".
   * @default []
   */
  readonly allow?: readonly string[];
  /** Ports that may be reached on the public internet. @default [80, 443, 8080, 8443] */
  readonly ports?: readonly number[];
  /**
   * Maximum size of a response, before and after decompression. A larger one fails with `TOO_LARGE`.
   * @default 25_000_000
   */
  readonly maxBytes?: number;
  /** Time for the whole fetch, from the check of the URL to the last byte, including redirects. @default 30_000 */
  readonly timeoutMs?: number;
  /** How long connecting may take, and how long a connection may be idle. @default 10_000 */
  readonly idleMs?: number;
  /** Maximum redirects. Further ones fail with `TOO_MANY_REDIRECTS`. @default 5 */
  readonly maxRedirects?: number;
  /** Maximum size of the response headers. Larger ones fail with `BAD_RESPONSE`. @default 16_384 */
  readonly maxHeaderBytes?: number;
  /** Resolves host names. @default the lookup of the operating system */
  readonly lookup?: Lookup;
  /** The `User-Agent` header of requests. @default "Turnstream" */
  readonly userAgent?: string;
}

export type ResolvedFetchPolicy = Required<Omit<FetchPolicy, "lookup">> & Pick<FetchPolicy, "lookup">;

const DEFAULT_POLICY = {
  allow: [],
  ports: [80, 443, 8080, 8443],
  maxBytes: 25_000_000,
  timeoutMs: 30_000,
  idleMs: 10_000,
  maxRedirects: 5,
  maxHeaderBytes: 16_384,
  userAgent: "Turnstream",
} as const satisfies FetchPolicy;

export function withDefaults(policy: FetchPolicy): ResolvedFetchPolicy {
  return { ...DEFAULT_POLICY, ...policy };
}
