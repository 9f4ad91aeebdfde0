/**
 * `FetchPolicy` defines which addresses a fetch may reach, and its limits. `withDefaults` fills in the defaults.
 * Invariant: only the operator sets it, never a user or a model. By default no internal address can be reached, and
 * size, time and redirects are limited.
 */
import { z } from "zod";
import { defined } from "../util/defined.ts";
import { func, integer, type OptionsInput, type OptionsOutput } from "../util/parse-options.ts";
import { MAX_TIMER_MS } from "../util/sleep.ts";

/** Resolves a host to addresses. Every address is checked, and connections are made to these addresses only. */
export type Lookup = (host: string) => Promise<readonly string[]>;

const policyShape = {
  /**
   * Internal services that may be reached, as `host:port`, for example `wiki.internal:443`. Any user who can send a
   * message can then fetch them, also by a redirect.
   * @default []
   */
  allow: z.array(z.string()).readonly().default([]),
  /** Ports that may be reached on the public internet. @default [80, 443, 8080, 8443] */
  ports: z.array(integer(1, 65_535)).readonly().default([80, 443, 8080, 8443]),
  /** Size of a response, before and after decompression. @default 25000000 */
  maxBytes: integer(1).default(25_000_000),
  /** Duration from the lookup to the last byte, including redirects. @default 30000 */
  timeoutMs: integer(1, MAX_TIMER_MS).default(30_000),
  /** Time to connect, and time without data. @default 10000 */
  idleMs: integer(1, MAX_TIMER_MS).default(10_000),
  /** Redirects that are followed. @default 5 */
  maxRedirects: integer().default(5),
  /** Resolves host names. @default system resolver */
  lookup: func<Lookup>().optional(),
  /** The `user-agent` header. @default "Turnstream" */
  userAgent: z.string().default("Turnstream"),
};

export interface FetchPolicy extends OptionsInput<typeof policyShape> {}
export interface ResolvedFetchPolicy extends OptionsOutput<typeof policyShape> {}

export const fetchPolicy: z.ZodType<ResolvedFetchPolicy, FetchPolicy> = z.strictObject(policyShape);

const DEFAULT_POLICY = fetchPolicy.parse({});

export function withDefaults(policy: FetchPolicy): ResolvedFetchPolicy {
  return { ...DEFAULT_POLICY, ...defined(policy) };
}
