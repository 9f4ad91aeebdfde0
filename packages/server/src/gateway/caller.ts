/**
 * `Caller` is the authenticated client of a request, an event stream or a socket, and `clientField` is its address for the audit
 * log.
 * Invariant: tenant, user and scopes come only from verified credentials (auth/) and never from a path, query or body.
 * A ticket carries every field except `from`; see auth/tickets.ts.
 */
import type { Actor } from "../store/refs.ts";

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
  /** The client's network address, for the audit log; empty if the host does not know it. */
  readonly from: string;
}

/**
 * The client's address for the audit, which accepts only the characters of ids. A fetch handler may not know it, and the
 * address of a link-local client can contain the name of a network interface.
 */
export function clientField({ from }: Caller): { readonly clientId?: string } {
  return from === "" ? {} : { clientId: from.replaceAll(/[^\w.:/-]/g, "_") };
}
