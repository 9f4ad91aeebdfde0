/** Who is at the other end of a request, a stream or a socket. Types only. */
import type { Actor } from "../store/refs.ts";

export interface Caller extends Actor {
  /** What they may do. Grown by roles later; checked in access.ts and nowhere else. */
  readonly scopes: readonly string[];
  /** The API key that let them in, itself or by a token that it made; a connection ends when it is revoked. */
  readonly key: string | null;
  /** When what let them in ends, in milliseconds since 1970; null for a key without end. */
  readonly expiresAt: number | null;
  /** From where, for the audit. */
  readonly from: string;
}
