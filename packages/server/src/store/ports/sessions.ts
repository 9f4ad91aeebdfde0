/**
 * `Sessions`, `Epochs`, `UserNumbers` and `Tenants` are the sub-ports for sessions and their owners. Types and
 * constants only. None of them reads the content of a session.
 *
 * Invariant: a method with an `Actor` sees only that user's sessions. No epoch is issued twice, and numbers are never
 * reused. An erased session leaves a pending erasure in the same commit, until its log is deleted too.
 */
import type { Cursor } from "@turnstream/protocol";
import type { Actor, SessionRef } from "../../util/refs.ts";

export interface Session {
  /** Unique in the tenant. */
  readonly id: string;
  readonly tenant: string;
  readonly user: string;
  /** The session as a number, for clients that use numbers. Unique in the tenant and never reused. */
  readonly number: number;
  readonly title: string | null;
  /** How far the log is archived; "0-0" at first. */
  readonly archived: Cursor;
  readonly forkedFromShare: boolean;
  /** The number of the last turn that the fork copied from its share; 0 if there is none. */
  readonly forkedTurns: number;
  /** The seq after which events were lost, at the last loss; null if none were. See `Epochs.confirm`. */
  readonly lostAfter: number | null;
  readonly createdAt: number;
  /** When a turn last started or ended, or the session was touched or renamed. */
  readonly updatedAt: number;
}

export interface SessionWithEpoch extends Session {
  /** The highest epoch ever issued; see `Epochs`. */
  readonly epoch: number;
}

export interface NewSession {
  readonly id: string;
  readonly title?: string;
  /** Only for a fork: the number of the last turn that it copies from its share, or 0 if the share has no turns. */
  readonly forkedTurns?: number;
  /**
   * The epoch that the first claim gets, from 1 to 2^32 - 1. Random by default, so that a cursor of one session is not
   * valid in another by chance.
   */
  readonly firstEpoch?: number;
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  /** Value for `before` of the next page, or null for the last page. Opaque, and not bound to an actor. */
  readonly next: string | null;
}

export interface Erasure extends SessionRef {
  readonly requestedAt: number;
}

export interface TakeErasuresQuery {
  readonly limit: number;
  /** How long no other process takes them. */
  readonly leaseMs: number;
  /** An erasure whose log was deleted before is taken once more, this long after its request. */
  readonly graceMs: number;
}

/** Maximum size of a page. */
export const MAX_PAGE = 100;
/** Maximum size of a batch. */
export const MAX_BATCH = 1000;

/** The sub-port that creates, finds, lists and erases sessions. */
export interface Sessions {
  /**
   * Creates a session. The log must accept its id; see `util/names.ts`.
   * @throws StoreError with EXISTS if the tenant has a session with this id, or is still erasing one, with NOT_FOUND
   *   without the tenant, with INVALID if the log would refuse the id.
   */
  create(actor: Actor, session: NewSession): Promise<SessionWithEpoch>;
  /** Returns a session of this user, or null. */
  get(actor: Actor, id: string): Promise<Session | null>;
  /**
   * Returns the users of 1 to `MAX_BATCH` sessions of a tenant, by session id. A missing session has none. For access
   * checks of many callers at once.
   */
  owners(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Like `get`, by number. */
  byNumber(actor: Actor, number: number): Promise<Session | null>;
  /** Returns a session of any user within the tenant, for servers. */
  find(ref: SessionRef): Promise<SessionWithEpoch | null>;
  /**
   * Returns the actor's sessions, the most recently updated first. Following `next` returns each session at most once.
   * It returns every session that existed at the first page and was not updated meanwhile; an update moves a session to
   * the front.
   */
  list(actor: Actor, page: { readonly limit: number; readonly before?: string }): Promise<SessionPage>;
  /** @throws StoreError with NOT_FOUND if the session does not exist. */
  rename(actor: Actor, id: string, title: string): Promise<Session>;
  /** Moves the session to the front of its owner's list. */
  touch(ref: SessionRef): Promise<void>;
  /**
   * Erases the session everywhere in the store, and records in the same commit that its log must be deleted too.
   * @returns false if it did not exist
   */
  remove(ref: SessionRef): Promise<boolean>;
  /**
   * Erases all sessions of one user, as `remove` does, and the memories about them. In other users'
   * sessions, the user's id is removed from decisions, allowances, uploads, queued messages and running turns.
   * @returns the ids of the erased sessions
   */
  removeUser(tenant: string, user: string): Promise<string[]>;
  /**
   * For retention: erases sessions of any tenant that were not updated for that long, the oldest first. A session that
   * is updated or in use at the same time is skipped until the next call.
   * @returns the erased sessions
   */
  removeExpired(query: { readonly olderThanMs: number; readonly limit: number }): Promise<SessionRef[]>;
  /** Returns erased sessions whose logs may still exist, the oldest first. */
  pendingErasures(limit: number): Promise<Erasure[]>;
  /** Claims erased sessions whose logs must be deleted, the oldest first. Of several processes, one gets each. */
  takeErasures(query: TakeErasuresQuery): Promise<SessionRef[]>;
  /**
   * Deletes the record of an erasure whose log is deleted too, if it was requested at least that long ago by the
   * store's clock. Otherwise it ends the claim, and notes that the log was deleted.
   * @returns false if it is younger, or there is none
   */
  erased(ref: SessionRef, query: { readonly olderThanMs: number }): Promise<boolean>;
}

/** A request for a new epoch. */
export interface EpochClaim {
  /** The highest epoch in which the log was seen, or 0 without a log. */
  readonly seen: number;
  /**
   * Fails with CONFLICT unless this is still the newest epoch. For callers that don't need the session if others are
   * working on it.
   */
  readonly ifEpoch?: number;
  /** Fails with CONFLICT if the session has a turn. For callers without one. */
  readonly ifIdle?: boolean;
}

/** The sub-port of epochs, which decide what may write a session's log. Does not read the log. */
export interface Epochs {
  /**
   * Issues a new epoch, higher than every issued one and than `seen`. No number is issued twice, even to concurrent
   * callers. The caller then claims the log under it: until a claim, nothing is archived.
   * @returns the session with its new epoch. Its archived position doesn't change until the log is claimed under this
   * epoch or a higher one
   * @throws StoreError with NOT_FOUND if the session does not exist.
   */
  next(ref: SessionRef, claim: EpochClaim): Promise<SessionWithEpoch>;
  /**
   * Returns the newest issued epoch, or null if the session does not exist. Call it after the claim of the log: like
   * `outbox.reopen`, it makes rows due again whose entries the log may have lost.
   * @param lostAfter set if the claim found that all events after this seq are lost. The session keeps it
   */
  confirm(ref: SessionRef, lostAfter?: number): Promise<number | null>;
}

/**
 * The sub-port that gives each user a number. Records that can't change (the audit) refer to the number, and the name
 * behind it can be erased. A number is never reused.
 */
export interface UserNumbers {
  /** Returns the same number on every call, until the user is forgotten. */
  numberOf(tenant: string, user: string): Promise<number>;
  /** Returns null if the user was forgotten or never existed. */
  nameOf(tenant: string, number: number): Promise<string | null>;
  /** Deletes the link between the number and the user. Returns false if there was none. */
  forget(tenant: string, user: string): Promise<boolean>;
}

/** The owner of sessions, keys and users. */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

/** The sub-port of tenants. Keys and users have their own sub-ports. */
export interface Tenants {
  /** @throws StoreError with EXISTS if the id is taken. */
  create(tenant: { readonly id: string; readonly name: string }): Promise<Tenant>;
  get(id: string): Promise<Tenant | null>;
  /**
   * Erases the tenant and everything that belongs to it. Each session leaves a pending erasure, as with
   * `sessions.remove`.
   * @returns the ids of the erased sessions, so that their logs can be deleted
   */
  remove(id: string): Promise<string[]>;
}
