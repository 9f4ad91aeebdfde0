/**
 * `SubscribedSessions` holds the sessions that a transport follows.
 * Invariant: a session is found by the id with which it was requested, by the id in frames, and by its request id. The
 * first two differ if a session was requested by its number.
 */
import type { Cursor } from "@turnstream/protocol";
import type { ConnectionView } from "./status.ts";
import { parseRequestId, type SubscriptionState } from "./subscription-machine.ts";
import type { SubscriptionHandler } from "./transport.ts";

/** A session that a transport follows, with the state of its subscription. */
export interface SubscribedSession {
  readonly session: string;
  /** Prefix of its request ids. It identifies replies even if the server uses another id for the session. */
  readonly key: string;
  readonly cursor: () => Cursor | null;
  readonly handler: SubscriptionHandler;
  state: SubscriptionState;
  view: ConnectionView;
  cancelTimer: () => void;
}

export class SubscribedSessions {
  readonly #byRequest = new Map<string, SubscribedSession>();
  readonly #byId = new Map<string, SubscribedSession>();

  get size(): number {
    return this.#byRequest.size;
  }

  list(): SubscribedSession[] {
    return [...this.#byRequest.values()];
  }

  add(entry: SubscribedSession): void {
    this.#byRequest.set(entry.session, entry);
  }

  has(session: string): boolean {
    return this.#byRequest.has(session);
  }

  /** False if the session was removed, or added again since. */
  isCurrent(entry: SubscribedSession): boolean {
    return this.#byRequest.get(entry.session) === entry;
  }

  remove(entry: SubscribedSession): void {
    this.#byRequest.delete(entry.session);
    for (const [id, named] of this.#byId) if (named === entry) this.#byId.delete(id);
  }

  clear(): void {
    this.#byRequest.clear();
    this.#byId.clear();
  }

  /** Finds a session by request id, because a session that was requested by its number is answered with its id. */
  find(session: unknown, request: unknown): SubscribedSession | undefined {
    if (typeof session === "string" && typeof request !== "string")
      return this.#byId.get(session) ?? this.#byRequest.get(session);
    if (typeof request !== "string") return undefined;
    const { key } = parseRequestId(request);
    const entry = this.list().find((candidate) => candidate.key === key);
    if (entry !== undefined && typeof session === "string") this.#byId.set(session, entry);
    return entry;
  }
}
