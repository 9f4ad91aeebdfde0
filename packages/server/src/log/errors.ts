/** What a log refuses, as one typed error. Bad cursors are answers, not errors: see `log.ts`. */
import { createErrorGuard, defineErrors } from "../util/errors.ts";

const MEANINGS = {
  FENCED: "Another writer has taken this session over. Stop writing; what is journaled is safe.",
  OUTBID:
    "Somebody has, or is about to have, a higher epoch. They have the session now; who needs it still takes a new epoch from the store.",
  MOVED: "Something was written after what the claimer has read. Read again, then claim.",
  UNCLAIMED:
    "The log is missing, or Redis is not the one on which it was claimed (restart, failover, wipe). Claim a new epoch, then go on.",
  UNSURE:
    "The log no longer reaches back to where this append may have happened. Look into the archive, then decide.",
  UNAVAILABLE:
    "Redis can't be reached, or refuses work. What was asked may have happened: ask again, an append or claim as a repeat.",
  TOO_LARGE:
    "It is over the limit of the log. Put content into a blob and refer to it; send a large batch in pieces.",
  INVALID: "The call is wrong. Correct the program.",
} as const;

export type LogErrorCode = keyof typeof MEANINGS;

const formatMessage = (code: string, detail: string, meaning: string): string =>
  `${code}: ${detail === "" ? "" : `${detail}. `}${meaning}`;

export class LogError extends defineErrors("LogError", MEANINGS, formatMessage) {
  /** The epoch that the log is in, where that is the reason. */
  readonly epoch: number | null;

  constructor(code: LogErrorCode, options: { detail?: string; epoch?: number; cause?: unknown } = {}) {
    super(code, options.detail ?? "", options.cause);
    this.epoch = options.epoch ?? null;
  }
}

export const isLogError = createErrorGuard(LogError);
