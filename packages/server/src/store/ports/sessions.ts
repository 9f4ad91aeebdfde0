/**
 * The sub-port of sessions: making, finding, listing and erasing them. Never reads what was said in one.
 */
import type { Cursor } from "@turnstream/protocol";
import type { Actor, SessionRef } from "../refs.ts";

export interface Session {
  readonly id: string;
  readonly tenant: string;
  readonly user: string;
  /** The same session as a number, for clients that know it so. Unique, never given again. */
  readonly number: number;
  readonly title: string | null;
  /** The highest epoch ever given out; see epochs.ts. */
  readonly epoch: number;
  /** How far the log is archived; "0-0" at first. */
  readonly archived: Cursor;
  readonly forkedFromShare: boolean;
  readonly createdAt: number;
  /** When a turn last started or ended, or somebody touched or renamed it. */
  readonly updatedAt: number;
}

export interface NewSession {
  readonly id: string;
  readonly title?: string;
  readonly forkedFromShare?: boolean;
  /**
   * The epoch that the first claim will get, from 1 to 2^32 - 1; random when absent, so that a cursor of one
   * session is not by chance one of another.
   */
  readonly firstEpoch?: number;
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  /** For `before` of the next page; null when there is none. Opaque: made for one actor, good for any. */
  readonly next: string | null;
}

export interface Erasure {
  readonly session: string;
  readonly requestedAt: number;
}

/** The most that a page or batch may ask for. */
export const MAX_PAGE = 100;
export const MAX_BATCH = 1000;

export interface Sessions {
  /**
   * Throws EXISTS when the id is taken or still being erased, NOT_FOUND when the tenant isn't there, INVALID when the
   * log couldn't take the id (see names.ts).
   */
  create(actor: Actor, session: NewSession): Promise<Session>;
  /** For a person: only their own. */
  get(actor: Actor, id: string): Promise<Session | null>;
  /** The same by its number. */
  byNumber(actor: Actor, number: number): Promise<Session | null>;
  /** For servers: any user's, within the tenant. */
  find(ref: SessionRef): Promise<Session | null>;
  /**
   * The actor's own, the last updated first. Following `next` gives each session at most once, and all of those
   * that were there from the first page on and weren't updated meanwhile; an updated one moves to the front.
   */
  list(actor: Actor, page: { readonly limit: number; readonly before?: string }): Promise<SessionPage>;
  /** Throws NOT_FOUND. */
  rename(actor: Actor, id: string, title: string): Promise<Session>;
  /** Moves it to the front of its owner's list. */
  touch(ref: SessionRef): Promise<void>;
  /**
   * Erases the session everywhere in the store, and notes in the same commit that its log has still to go.
   * @returns false when it wasn't there
   */
  remove(ref: SessionRef): Promise<boolean>;
  /**
   * The same for all sessions of one person; @returns their ids. In what other people's sessions keep of decisions
   * and waiting messages, nobody is named any more where it was this person. What was remembered of them goes too.
   */
  removeUser(tenant: string, user: string): Promise<string[]>;
  /**
   * For retention: erases sessions of any tenant that were not updated for that long, the oldest first; @returns
   * their ids. One that is updated or otherwise worked on at the same time is left for the next time.
   */
  removeExpired(query: { readonly olderThanMs: number; readonly limit: number }): Promise<string[]>;
  /** Erased sessions whose logs may still be there, the oldest first; those behind `after`, the last one of the page before. */
  pendingErasures(limit: number, after?: Erasure): Promise<Erasure[]>;
  /**
   * The log is gone too: forgets the erasure, if it was requested at least that long ago by the store's clock.
   * @returns false when it wasn't, or there is none
   */
  erased(session: string, query: { readonly olderThanMs: number }): Promise<boolean>;
}

/** The sub-port of epochs: who may write a session's log. Never looks at the log itself. */
export interface EpochClaim {
  /** The highest epoch that the log was seen in; 0 when there is no log. */
  readonly seen: number;
  /** Which process claims, and why: for people who look into what happened. Never content. */
  readonly by: string;
  readonly reason: string;
  /** Only if this is still the newest: otherwise refused with CONFLICT. For who need not have it if others work on it. */
  readonly ifEpoch?: number;
}

export interface NextEpoch {
  readonly epoch: number;
  /** How far the log is archived. It moves no more until the log is claimed under this epoch or a higher one. */
  readonly archived: Cursor;
}

export interface EpochRecord {
  readonly epoch: number;
  readonly by: string;
  readonly reason: string;
  readonly at: number;
}

export interface Epochs {
  /**
   * A new epoch of the session, above every one ever given out and above `seen`. No number is given twice,
   * whoever asks at the same time. Whoever gets one claims the log under it: until somebody has, nothing is archived.
   * Throws NOT_FOUND.
   */
  next(ref: SessionRef, claim: EpochClaim): Promise<NextEpoch>;
  /** The newest claims first. */
  list(ref: SessionRef, limit: number): Promise<EpochRecord[]>;
}

/**
 * The sub-port that gives people numbers, so that what can't be changed (the audit) names somebody by a number
 * whose name can be erased. Never gives a number twice.
 */
export interface UserNumbers {
  /** The same at every call, until the person is forgotten. */
  numberOf(tenant: string, user: string): Promise<number>;
  /** Null when the person was forgotten or never was. */
  nameOf(tenant: string, number: number): Promise<string | null>;
  /** From now on nobody can tell whose number it was. False when there was none. */
  forget(tenant: string, user: string): Promise<boolean>;
}

/** The sub-port of tenants: who the sessions belong to. Never knows keys or people; those have ports of their own. */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

export interface Tenants {
  /** Throws EXISTS when the id is taken. */
  create(tenant: { readonly id: string; readonly name: string }): Promise<Tenant>;
  get(id: string): Promise<Tenant | null>;
  /**
   * Erases the tenant and all that is theirs. Each session leaves a pending erasure, like `sessions.remove`.
   * @returns the sessions that are gone, so that their logs can be deleted
   */
  remove(id: string): Promise<string[]>;
}
