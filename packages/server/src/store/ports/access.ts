/** The sub-port for API keys. Only the hash of a key is kept; nobody can be shown a key again. */
import type { Cursor, Json } from "@turnstream/protocol";
import type { Actor, SessionRef } from "../refs.ts";

export interface NewKey {
  /** For people, to tell their keys apart. */
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; never when absent. */
  readonly expiresAt?: number;
}

export interface KeyInfo {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** True to the minute; a use within a transaction isn't noted. */
  readonly lastUsedAt: number | null;
}

export interface VerifiedKey {
  readonly id: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
}

export interface Keys {
  /** The one time that the secret is given out. */
  create(tenant: string, key: NewKey): Promise<{ readonly key: KeyInfo; readonly secret: string }>;
  /**
   * Whose key it is; null when it isn't one, was revoked or has expired. Compares in constant time. Works on
   * a database that can't be written to: that it was used is noted beside, if it can be.
   */
  verify(secret: string): Promise<VerifiedKey | null>;
  /** Those of these keys that are still good, for connections that were opened with one and go on. */
  live(ids: readonly string[]): Promise<Set<string>>;
  /** For good. False when the tenant has no such key or it was revoked before. */
  revoke(tenant: string, id: string): Promise<boolean>;
  /** The newest of them, at most 1,000, oldest first. */
  list(tenant: string): Promise<KeyInfo[]>;
}

/** How often a key that is in use is written down as used, at most. */
export const LAST_USED_MS = 60_000;

/**
 * The sub-port of requests that must not be done twice: under a key that the client has chosen, what was answered is kept for
 * a day and given again. Each is one person's; it goes with them, and with the session that it is about. Never does anything.
 *
 *   begin ──▶ yours ──▶ finish ──▶ done …
 *               │
 *               ├──▶ release ──▶ yours (the next who begins)
 *               └──▶ nobody said anything for a while ──▶ yours (the next who begins)
 */
/** Which request. */
export interface RequestKey {
  /** The same key means something else at another route. */
  readonly route: string;
  readonly key: string;
}

export interface IdempotentRequest extends RequestKey {
  /** Of all that was asked for: the same key with another one is a mistake of the client's. */
  readonly digest: string;
  /** The session that it is about, where there is one. */
  readonly session?: string;
}

export interface StoredResponse {
  readonly status: number;
  readonly body: Json;
  /** The session that was made. */
  readonly session?: string;
}

/**
 * - `yours`: do it, and then `finish` or `release`, with this claim. `id` is the same for whoever does it after you: make
 *   things under it, so that doing it twice makes them once.
 * - `busy`: somebody is at it.
 * - `different`: the key was used for another request.
 */
export type BeginResult =
  | { readonly state: "yours"; readonly claim: string; readonly id: string }
  | { readonly state: "done"; readonly answer: { readonly status: number; readonly body: Json } }
  | { readonly state: "busy" }
  | { readonly state: "different" };

export interface Idempotency {
  /** Throws NOT_FOUND without the tenant, or without the session. */
  begin(actor: Actor, request: IdempotentRequest): Promise<BeginResult>;
  /**
   * Keeps the answer. False when somebody else has taken the request over, or it was erased. Throws NOT_FOUND without the
   * session, and TOO_LARGE beyond 256 kB.
   */
  finish(actor: Actor, request: RequestKey, claim: string, answer: StoredResponse): Promise<boolean>;
  /** It came to nothing: whoever asks again does it anew, under the same `id`. */
  release(actor: Actor, request: RequestKey, claim: string): Promise<void>;
  /** Forgets those that began more than a day ago. @returns how many, at most the limit */
  sweep(limit: number): Promise<number>;
}

export const RESPONSE_RETENTION_MS = 24 * 60 * 60 * 1_000;
/** Whoever has said nothing for so long is taken for dead. */
export const REQUEST_LEASE_MS = 120_000;

/**
 * The sub-port of shares: a session's history up to one position, open to whoever has the link.
 * Never makes links: see share-token.ts; nor copies: see fork-share.ts.
 */
export interface Share extends SessionRef {
  readonly id: string;
  /** What was archived when the share was made: nothing later is ever shown by it. */
  readonly upTo: Cursor;
  readonly createdAt: number;
}

export interface Shares {
  /** @param id left to the store when absent. Throws NOT_FOUND when the session isn't the actor's, EXISTS when it is taken. */
  create(actor: Actor, session: string, id?: string): Promise<Share>;
  /** False when there is no such share of the actor's, or it is revoked already. */
  revoke(actor: Actor, id: string): Promise<boolean>;
  /** Null when it never was, is revoked, or its session is erased. The link itself is the right to read. */
  find(id: string): Promise<Share | null>;
  /** The newest of those not revoked, at most 1,000, oldest first. */
  list(actor: Actor, session: string): Promise<Share[]>;
}

/**
 * The sub-port of tickets that were redeemed, so that each opens one connection. Never sees what a ticket lets somebody do:
 * that is signed, and read by whoever takes it.
 */
export interface Tickets {
  /**
   * Takes a ticket. False when it was taken before. Throws NOT_FOUND without the tenant.
   * @param expiresAt milliseconds since 1970; whoever calls has looked whether that is past
   */
  redeem(tenant: string, id: string, expiresAt: number): Promise<boolean>;
  /** Forgets those that have long expired. @returns how many, at most the limit */
  sweep(limit: number): Promise<number>;
}

/** Long enough that no clock is so far off: a ticket that was forgotten could be taken again. */
export const TICKET_GRACE_MS = 60 * 60 * 1_000;
