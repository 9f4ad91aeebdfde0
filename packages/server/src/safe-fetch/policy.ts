/** What a fetch may reach and how much it may take, as whoever runs the server says it. Types and defaults only. */

/** Finds the addresses of a host. Every one of them is checked, and only these are connected to. */
export type Lookup = (host: string) => Promise<readonly string[]>;

export interface FetchPolicy {
  /**
   * Services inside, as "host:port", that may be reached all the same, by redirects too. The port is always named:
   * "10.0.0.7:80", "[::1]:3000", "search.internal:443".
   */
  readonly allow?: readonly string[];
  /** The ports that may be reached on the public internet. */
  readonly ports?: readonly number[];
  /** How much of an answer is taken, before and after it is unpacked. */
  readonly maxBytes?: number;
  /** From the first look at the address to the last byte of the answer, redirects included. */
  readonly timeoutMs?: number;
  /** How long a connection may take, or be silent. */
  readonly idleMs?: number;
  readonly maxRedirects?: number;
  readonly maxHeaderBytes?: number;
  /** The system's own when absent. */
  readonly lookup?: Lookup;
  /** What the server is told about who asks. */
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
