/**
 * `LogRetention` bounds the memory of the log. When a turn has ended, it lets the log expire, and trims it a while
 * later, so that clients can resume in between. `archiveLeftovers` archives events that no turn archives.
 *
 * Invariant: only archived events are trimmed or expire. The expiry is set in the log itself, so it happens even if
 * this process dies; the trims in memory only free the space earlier. Their number is bounded. An error of the log
 * changes nothing, because the log expires anyway.
 */
import type { Cursor } from "@turnstream/protocol";
import { isLogError } from "../../log/errors.ts";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Backend } from "../backend.ts";
import { archiveSession } from "./archive.ts";

export interface LogRetentionOptions {
  /** How long the events of a turn stay in the log after it has ended. */
  readonly trimAfterMs: number;
  /** How long the log of a session without a running turn stays. */
  readonly expireAfterMs: number;
  /** How many trims may wait. Beyond this the oldest happens immediately. @default 20_000 */
  readonly maxPending?: number;
}

interface PendingTrim {
  readonly ref: SessionRef;
  readonly upTo: Cursor;
  readonly dueAt: number;
}

const MAX_PENDING = 20_000;
/** How many trims are sent together. One at a time would take too long after a pause. */
const BATCH = 50;

export class LogRetention {
  readonly #backend: Backend;
  readonly #options: Required<LogRetentionOptions>;
  /** In the order in which they are due. */
  #pending: PendingTrim[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(backend: Backend, options: LogRetentionOptions) {
    this.#backend = backend;
    this.#options = { maxPending: MAX_PENDING, ...options };
  }

  /** How many trims wait. */
  get pending(): number {
    return this.#pending.length;
  }

  /**
   * Call this when no turn runs and the log is archived up to a position. It has no effect on a log with later entries,
   * except that its archived part is trimmed.
   */
  async settle(ref: SessionRef, archived: Cursor): Promise<void> {
    const { trimAfterMs, expireAfterMs, maxPending } = this.#options;
    await ignoreLogErrors(this.#backend.log.expire(ref, archived, expireAfterMs));
    // The whole log expires before.
    if (this.#isClosed || trimAfterMs >= expireAfterMs) return;
    this.#pending.push({ ref, upTo: archived, dueAt: performance.now() + trimAfterMs });
    if (this.pending > maxPending) await this.#trim(1);
    this.#schedule();
  }

  /** Forgets the trims: the logs expire by themselves. */
  close(): void {
    this.#isClosed = true;
    this.#pending = [];
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #schedule(): void {
    const [next] = this.#pending;
    if (this.#timer !== null || next === undefined || this.#isClosed) return;
    const delayMs = Math.max(0, next.dueAt - performance.now());
    this.#timer = setTimeout(() => void this.#trimDue(), delayMs).unref();
  }

  async #trimDue(): Promise<void> {
    const now = performance.now();
    while ((this.#pending[0]?.dueAt ?? Infinity) <= now) {
      const later = this.#pending.findIndex(({ dueAt }) => dueAt > now);
      await this.#trim(later < 0 ? BATCH : Math.min(BATCH, later));
    }
    this.#timer = null;
    this.#schedule();
  }

  /** Trims the logs that are due first. */
  async #trim(count: number): Promise<void> {
    const { log } = this.#backend;
    const trims = this.#pending.splice(0, count);
    await Promise.all(trims.map(({ ref, upTo }) => ignoreLogErrors(log.trim(ref, upTo))));
  }
}

export interface LeftoverOptions {
  /** How long ago the events were published. @default 60_000 */
  readonly olderThanMs?: number;
  readonly limit?: number;
}

const LEFTOVER_MS = 60_000;
const LEFTOVER_LEASE_MS = 60_000;
const MAX_LEFTOVERS = 100;

/**
 * Archives sessions with published events that are not archived, such as a title after the last turn, or a message
 * behind a turn that waits for its user. Without this, the log would expire with them. @returns how many sessions
 */
export async function archiveLeftovers(
  backend: Backend,
  retention: LogRetention,
  { olderThanMs = LEFTOVER_MS, limit = MAX_LEFTOVERS }: LeftoverOptions = {},
): Promise<number> {
  const query = { olderThanMs, limit, leaseMs: LEFTOVER_LEASE_MS };
  const refs = await backend.store.outbox.takeUnarchived(query);
  for (const ref of refs) {
    try {
      const { cursor, isBlocked } = await archiveSession(backend, ref);
      if (!isBlocked && (await backend.store.running.get(ref)) === null) await retention.settle(ref, cursor);
    } catch (error) {
      // The session was erased, or a server is away: the next call finds the rest.
      if (!isLogError(error) && !isStoreError(error)) throw error;
    }
  }
  return refs.length;
}

async function ignoreLogErrors(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isLogError(error)) throw error;
  }
}
