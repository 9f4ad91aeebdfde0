/** What a gateway needs and what can be set. Each setting is declared here, once, with its default. */
import type { CommandParts } from "../session/backend.ts";
import { DEFAULT_UPLOAD_LIMITS } from "../session/blobs/upload.ts";
import type { TrustProxy } from "./auth/client-address.ts";
import type { Env } from "../util/env.ts";

export interface GatewayLimits {
  /** What may wait for one connection, in bytes, beyond what its transport holds. */
  readonly queueBytes: number;
  /** A connection that has not drained for so long is closed. */
  readonly stalledMs: number;
  readonly pingMs: number;
  /** How long a ping may stay unanswered. */
  readonly pongMs: number;
  readonly keepAliveMs: number;
  /** How often each connection is looked at: what is due can be late by that much. */
  readonly beatMs: number;
  /** A running turn that gives no event for so long ends its streams (S10). */
  readonly silenceMs: number;
  readonly subscriptionsPerSocket: number;
  /** Of a command over a socket, and of a JSON body. */
  readonly bodyBytes: number;
  /** Of one file, and of all files of a session. */
  readonly uploadBytes: number;
  readonly sessionUploadBytes: number;
  /** How long a socket may take to say who it is. */
  readonly ticketMs: number;
  readonly tokenMs: number;
  /** How many turns a fresh viewer gets at first. */
  readonly turns: number;
  /** How often we look whose key was revoked. What was let in by it ends about that much later. */
  readonly sweepMs: number;
}

export const DEFAULT_GATEWAY_LIMITS: GatewayLimits = {
  queueBytes: 512 * 1024,
  stalledMs: 60_000,
  pingMs: 25_000,
  pongMs: 10_000,
  keepAliveMs: 15_000,
  beatMs: 1_000,
  silenceMs: 180_000,
  subscriptionsPerSocket: 100,
  bodyBytes: 2 * 1024 * 1024,
  uploadBytes: DEFAULT_UPLOAD_LIMITS.bytes,
  sessionUploadBytes: DEFAULT_UPLOAD_LIMITS.sessionBytes,
  ticketMs: 30_000,
  tokenMs: 15 * 60_000,
  turns: 20,
  sweepMs: 4_000,
};

export interface GatewayOptions extends CommandParts {
  /** They sign tokens, tickets, shares and addresses of blobs. The first signs, all are good. */
  readonly secrets: readonly [string, ...string[]];
  /** Where browsers reach this server, such as `https://chat.example.com`; addresses are relative without it. */
  readonly publicUrl?: string;
  /** Which pages may open sockets and read answers, as origins: `https://app.example.com`. Same-origin only when absent. */
  readonly origins?: readonly string[];
  /** Whose word on where a client is (`x-forwarded-for`) is taken: the proxies before this server. None when absent. */
  readonly trustProxy?: TrustProxy;
  readonly limits?: Partial<GatewayLimits>;
  readonly env?: Env;
  readonly onError?: (error: unknown, about: string) => void;
}
