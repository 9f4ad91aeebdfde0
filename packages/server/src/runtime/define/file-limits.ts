/** How much of the files of a message is read, how long that may take. Values only. */
import { AMOUNT, COUNT, type NumberRange, TIMER_MS } from "./check-options.ts";

export interface FileLimits {
  /** How many files of one message are read; the rest is told as not read. */
  readonly maxFiles: number;
  /** How large one may be, and all of one message together. */
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  /** How long one may take, and all of one message together. */
  readonly fileTimeoutMs: number;
  readonly totalTimeoutMs: number;
  /** How many of one message are read side by side, and how many in this process. */
  readonly maxParallel: number;
  readonly maxParallelPerProcess: number;
  /** How much text of one is kept. */
  readonly maxChars: number;
  /** How much of one the model is shown unasked, and of all of one message together. */
  readonly previewChars: number;
  readonly totalPreviewChars: number;
  /** What reading the text of one may take. */
  readonly extractTimeoutMs: number;
  readonly extractMemoryMb: number;
}

export const DEFAULT_FILE_LIMITS: FileLimits = {
  maxFiles: 20,
  maxFileBytes: 25_000_000,
  maxTotalBytes: 100_000_000,
  fileTimeoutMs: 60_000,
  totalTimeoutMs: 180_000,
  maxParallel: 4,
  maxParallelPerProcess: 8,
  maxChars: 10_000_000,
  previewChars: 8_000,
  totalPreviewChars: 40_000,
  extractTimeoutMs: 20_000,
  extractMemoryMb: 256,
};

export const FILE_LIMIT_RANGES: Readonly<Record<keyof FileLimits, NumberRange>> = {
  maxFiles: AMOUNT,
  maxFileBytes: AMOUNT,
  maxTotalBytes: AMOUNT,
  fileTimeoutMs: TIMER_MS,
  totalTimeoutMs: TIMER_MS,
  maxParallel: COUNT,
  maxParallelPerProcess: COUNT,
  maxChars: COUNT,
  previewChars: AMOUNT,
  totalPreviewChars: AMOUNT,
  extractTimeoutMs: TIMER_MS,
  extractMemoryMb: COUNT,
};
