/**
 * `LogError` is the one error class of the log, with a code for each refusal.
 *
 * Invariant: only after UNAVAILABLE may a caller retry the same operation, because it may have happened. An invalid
 * cursor is a result, not an error; see `log.ts`.
 */
import { createErrorGuard, defineErrors } from "../util/errors.ts";

const MEANINGS = {
  FENCED: "Another writer has taken over this session. Stop writing: the journal is safe.",
  OUTBID:
    "Another writer has claimed this session with an equal or higher epoch, or is about to. To write to it, get a new epoch from the store.",
  MOVED:
    "The log has entries after the last position that the claimer has read. Read them, then claim again.",
  UNCLAIMED:
    "The log is missing, or was claimed on another Redis (restart, failover or wipe). Claim a new epoch, then continue.",
  UNSURE:
    "The part of the log that may contain this append was trimmed. Look for the event in the archive before you append it again.",
  LOST: "PostgreSQL lost commits, probably in a failover, and with them these events. The session continues after its archive. Use a synchronous replica.",
  EVICTS:
    "Redis deletes logs when its memory is full. Set `maxmemory-policy noeviction` in redis.conf, or in the parameter group of a managed Redis.",
  NOT_DURABLE:
    "A crash of Redis may lose the newest text of running turns. Readers are notified of each loss, and decisions and messages are in PostgreSQL. Set `appendonly yes` and `appendfsync always`, or see docs/managed-redis.md.",
  UNAVAILABLE:
    "Redis can't be reached, or refuses commands. The operation may have happened. Retry it; retry an append or claim with `isRetry`.",
  TOO_LARGE:
    "The event or batch exceeds the size limit of the log. Move large content into a blob, or split the batch.",
  INVALID: "The call has an invalid argument. Correct the calling code.",
} as const;

export type LogErrorCode = keyof typeof MEANINGS;

const formatMessage = (code: string, detail: string, meaning: string): string =>
  `${code}: ${detail === "" ? "" : `${detail}. `}${meaning}`;

export class LogError extends defineErrors("LogError", MEANINGS, formatMessage) {
  /** The epoch that the log is in, for FENCED and OUTBID; otherwise null. */
  readonly epoch: number | null;

  constructor(code: LogErrorCode, options: { detail?: string; epoch?: number; cause?: unknown } = {}) {
    super(code, options.detail ?? "", options.cause);
    this.epoch = options.epoch ?? null;
  }
}

export const isLogError = createErrorGuard(LogError);
