/**
 * `Caller` is the authenticated client of a request, an event stream or a socket. Types only.
 * Invariant: tenant, user and scopes come only from verified credentials (auth/) and never from a path, query or body.
 * A ticket carries every field except `from` and `clientId`; see auth/tickets.ts. The network address is never stored:
 * audit rows stay when a user is erased.
 */
import type { Actor } from "../util/refs.ts";

export interface Caller extends Actor {
  /** What the caller may do. Only auth/access.ts checks scopes. */
  readonly scopes: readonly string[];
  /**
   * The API key that authenticated the caller, directly or through a token issued for the key. The connection closes
   * when the key is revoked.
   */
  readonly key: string | null;
  /** When the token expires, in milliseconds since 1970; null for an API key. */
  readonly expiresAt: number | null;
  /** The client's network address, for limits and security events; empty if the host does not know it. */
  readonly from: string;
  /** A random id of this request or connection, for the audit. Decisions over one socket have the same. */
  readonly clientId: string;
}
