/**
 * `pruneTables` deletes rows that no request can need any more, and erases expired sessions.
 *
 * Invariant: every table has a bound, listed in docs/tables.md. A bound that is a time is enforced here, or in the
 * gateway for tickets and idempotency keys. One call takes a bounded time, so that it delays no other maintenance.
 */
import { eraseExpired, finishErasures } from "../../session/lifecycle/erase.ts";
import type { Backend } from "../../session/backend.ts";
import { RESPONSE_RETENTION_MS } from "../../store/idempotency.ts";
import { MAX_BATCH } from "../../store/rules/arguments.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const OUTBOX_RETENTION_MS = 60 * 60 * 1_000;
/** For replays. */
const WEBHOOK_RETENTION_MS = 7 * DAY_MS;
/** How long an upload may take, including retries. */
const UPLOAD_RETENTION_MS = DAY_MS;
/** A request that created a share may be repeated for as long as its response is stored. */
const SHARE_RETENTION_MS = RESPONSE_RETENTION_MS;
/** Longer than a worker repeats the end of a turn. */
const USAGE_MARK_RETENTION_MS = 7 * DAY_MS;
/** A client can send a message again that it could not send weeks ago. */
const MESSAGE_ID_RETENTION_MS = 30 * DAY_MS;
/** How long one table is pruned in one call. */
const MAX_PRUNE_MS = 2_000;
/** Sessions whose rows are copied to other partitions in one call. */
const MOVED_SESSIONS = 100;

export interface RetentionSettings {
  /** Null if sessions never expire. */
  readonly sessionRetentionMs: number | null;
  /** Null if audit entries are never dropped. */
  readonly auditRetentionMs: number | null;
}

export async function pruneTables(backend: Backend, settings: RetentionSettings): Promise<void> {
  const { store } = backend;
  const { sessionRetentionMs, auditRetentionMs } = settings;
  await repeat(() => store.uploads.prune(older(UPLOAD_RETENTION_MS)));
  await repeat(() => store.outbox.prune(older(OUTBOX_RETENTION_MS)));
  await repeat(() => store.shares.prune(older(SHARE_RETENTION_MS)));
  await repeat(() => store.webhooks.prune(older(WEBHOOK_RETENTION_MS)));
  await repeat(() => store.usage.pruneMarks(older(USAGE_MARK_RETENTION_MS)));
  await repeat(() => store.queuedMessages.prune(older(MESSAGE_ID_RETENTION_MS)));
  if (sessionRetentionMs !== null) await repeat(() => eraseExpired(backend, sessionRetentionMs));
  await store.archive.maintain({ retentionMs: sessionRetentionMs, limit: MOVED_SESSIONS });
  await finishErasures(backend);
  await repeat(async () => {
    const { recorded, dropped } = await store.audit.maintain({
      retentionMs: auditRetentionMs,
      limit: MAX_BATCH,
    });
    return recorded + dropped;
  });
}

function older(olderThanMs: number) {
  return { olderThanMs, limit: MAX_BATCH };
}

/** Repeats work until it finds nothing, or the time is over. */
async function repeat(prune: () => Promise<number>): Promise<void> {
  const until = performance.now() + MAX_PRUNE_MS;
  while ((await prune()) > 0 && performance.now() < until);
}
