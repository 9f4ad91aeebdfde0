/**
 * `Keys`, `Idempotency`, `Shares` and `Tickets` are the sub-ports for access: API keys, idempotent requests, shared
 * sessions and single-use tickets. Types and constants only.
 *
 * Invariant: the secret of a key is returned once and never stored. Of concurrent `begin` calls for one request, one
 * gets `yours`. A share never shows anything after its position, and the store's clock decides whether it has expired.
 * A ticket is redeemed once, so its record must outlive it.
 */
import type { Cursor, Json } from "@turnstream/protocol";
import type { Actor, SessionRef } from "../../util/refs.ts";

export interface NewKey {
  /** A label with which users distinguish their keys. */
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970. Without it the key never expires. */
  readonly expiresAt?: number;
}

export interface KeyInfo {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Accurate to one minute. Not updated by a use within a transaction. */
  readonly lastUsedAt: number | null;
}

export interface VerifiedKey {
  readonly id: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
}

/** The sub-port of API keys. Only the hash of a key is stored, so a key can't be shown again. */
export interface Keys {
  /** Creates a key. This is the only time that its secret is returned. */
  create(tenant: string, key: NewKey): Promise<{ readonly key: KeyInfo; readonly secret: string }>;
  /**
   * Returns the tenant and scopes of a key, or null if it is unknown, revoked or expired. Compares in constant time. It
   * also works on a read-only database: `lastUsedAt` is updated separately, if possible.
   */
  verify(secret: string): Promise<VerifiedKey | null>;
  /** Returns those of the keys that are still valid. For connections that were opened with a key and are still open. */
  live(ids: readonly string[]): Promise<Set<string>>;
  /** Returns the tenant of a key, also of one that was revoked or has expired, or null if there is no such key. */
  tenantOf(id: string): Promise<string | null>;
  /** Revokes a key permanently. Returns false if the tenant has no such key or it was revoked before. */
  revoke(tenant: string, id: string): Promise<boolean>;
  /** Returns the newest 1,000 keys, oldest first. */
  list(tenant: string): Promise<KeyInfo[]>;
}

/** Minimum time between two updates of `lastUsedAt`. */
export const LAST_USED_MS = 60_000;

/** Identifies a request of one user. */
export interface RequestKey {
  /** The same key on another route is another request. */
  readonly route: string;
  readonly key: string;
}

export interface IdempotentRequest extends RequestKey {
  /** Hash of the whole request. The same key with another digest is an error of the client. */
  readonly digest: string;
  /** The session that the request concerns, if any. */
  readonly session?: string;
}

export interface StoredResponse {
  readonly status: number;
  readonly body: Json;
  /** The session that the request created. */
  readonly session?: string;
}

/**
 * - `yours`: execute the request, then call `finish` or `release` with this claim. `id` stays the same if another
 *   process takes over: create things under this id, so that a second execution doesn't create them twice.
 * - `busy`: another process is executing it.
 * - `different`: the key was used for another request.
 */
export type BeginResult =
  | { readonly state: "yours"; readonly claim: string; readonly id: string }
  | { readonly state: "done"; readonly answer: { readonly status: number; readonly body: Json } }
  | { readonly state: "busy" }
  | { readonly state: "different" };

/**
 * The sub-port of idempotent requests. The response to a request is stored for a day under a key that the client chose,
 * and returned for repeats. A request belongs to one user, and is erased with the user or its session.
 *
 *   begin ──▶ yours ──▶ finish ──▶ done …
 *               │
 *               ├──▶ release ──▶ yours (for the next `begin`)
 *               └──▶ no answer within the lease ──▶ yours (for the next `begin`)
 */
export interface Idempotency {
  /** @throws StoreError with NOT_FOUND if the tenant or the session does not exist. */
  begin(actor: Actor, request: IdempotentRequest): Promise<BeginResult>;
  /**
   * Stores the response. Returns false if another process has taken over the request, or if it was erased.
   * @throws StoreError with NOT_FOUND if the session does not exist, with TOO_LARGE above 256 kB.
   */
  finish(actor: Actor, request: RequestKey, claim: string, answer: StoredResponse): Promise<boolean>;
  /** Gives up the claim after a failure. The next `begin` executes the request again, under the same `id`. */
  release(actor: Actor, request: RequestKey, claim: string): Promise<void>;
  /**
   * Deletes requests that started more than a day ago.
   * @returns how many, at most `limit`
   */
  sweep(limit: number): Promise<number>;
}

export const RESPONSE_RETENTION_MS = 24 * 60 * 60 * 1_000;
/** A claim that was neither finished nor released for this long can be taken over. */
export const REQUEST_LEASE_MS = 120_000;

/** A session's history up to one position, readable with a link. */
export interface Share extends SessionRef {
  readonly id: string;
  /** The archived position when the share was created. The share never shows anything later. */
  readonly upTo: Cursor;
  readonly createdAt: number;
  /** When the share closes, by the store's clock, or null for never. */
  readonly expiresAt: number | null;
  /** Signs the token of its link, and must not leave the server. Random. */
  readonly key: string;
}

export interface NewShare {
  /** Generated by the store by default. */
  readonly id?: string;
  /** How long the share stays open. @default forever */
  readonly expiresInMs?: number;
}

/** A share in the list of its owner. */
export interface OwnShare extends Share {
  /** The current title of the session. Only the owner may see it. */
  readonly title: string | null;
}

interface SharePageOptions {
  readonly session?: string;
  readonly limit: number;
  readonly before?: string;
}

interface SharePage {
  readonly shares: readonly OwnShare[];
  /** Value for `before` of the next page, or null for the last page. Opaque, and not bound to an actor. */
  readonly next: string | null;
}

/**
 * The sub-port of shares. Links are made by `rules/share-token.ts`, copies by `fork/fork-share.ts`. A share is open
 * until it is revoked, expires, or its session is erased.
 */
export interface Shares {
  /** @throws StoreError with NOT_FOUND if the session isn't the actor's, with EXISTS if the id is taken. */
  create(actor: Actor, session: string, share?: NewShare): Promise<Share>;
  /** Returns false if the actor has no such share, or it is already revoked. */
  revoke(actor: Actor, id: string): Promise<boolean>;
  /** Returns null if the share isn't open. The caller verifies the token with the share's `key`. */
  find(id: string): Promise<Share | null>;
  /** Returns the newest 1,000 open shares of a session, oldest first. */
  list(actor: Actor, session: string): Promise<Share[]>;
  /** Returns the open shares of all sessions of the actor, or of one session, the newest first. */
  listOwn(actor: Actor, page: SharePageOptions): Promise<SharePage>;
  /**
   * Deletes shares that were revoked or expired that long ago. Their ids can be used again, so wait until no request
   * that created one is repeated.
   * @returns how many, at most `limit`
   */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/**
 * The sub-port of redeemed tickets: each ticket opens one connection. It does not see the permissions of a ticket. They
 * are signed, and the process that redeems the ticket reads them.
 */
export interface Tickets {
  /**
   * Redeems a ticket. Returns false if it was redeemed before.
   * @param expiresAt milliseconds since 1970. The caller has checked that it is not past.
   * @throws StoreError with NOT_FOUND if the tenant does not exist.
   */
  redeem(tenant: string, id: string, expiresAt: number): Promise<boolean>;
  /**
   * Deletes tickets that expired more than `TICKET_GRACE_MS` ago.
   * @returns how many, at most `limit`
   */
  sweep(limit: number): Promise<number>;
}

/** Longer than any expected clock difference. A ticket that is deleted too early could be redeemed again. */
export const TICKET_GRACE_MS = 60 * 60 * 1_000;
