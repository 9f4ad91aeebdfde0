/**
 * `FileLimits` bounds how much of a message's files is read, and how long that may take. Types and constants only.
 *
 * Invariant: each limit has a default and a range, and the documented default equals `DEFAULT_FILE_LIMITS`. Reaching a
 * limit shows the file as failed or cut, or makes it wait. It never fails the turn.
 */
import { AMOUNT, COUNT, type NumberRange, TIMER_MS } from "./check-options.ts";

export interface FileLimits {
  /** Files per message; further files are shown as not read. @default 20 */
  readonly maxFiles: number;
  /** Bytes per file; larger files are shown as too large. @default 25000000 */
  readonly maxFileBytes: number;
  /** Bytes of all files of a message together; files beyond it are shown as too large. @default 100000000 */
  readonly maxTotalBytes: number;
  /** How long loading one file may take; later it is shown as timed out. @default 60000 */
  readonly fileTimeoutMs: number;
  /** How long all files of a message may take together; files beyond it are shown as timed out. @default 180000 */
  readonly totalTimeoutMs: number;
  /** Files of one message that are read at the same time; further files wait. @default 4 */
  readonly maxParallel: number;
  /** Files that this process reads at the same time; tenants and their users take turns for these slots. @default 2 */
  readonly maxParallelPerProcess: number;
  /**
   * Files that this process fetches from URLs at the same time; tenants and their users take turns. A fetched file
   * waits for its reading in such a slot, so at most this many times `maxFileBytes` wait in memory.
   * @default 16
   */
  readonly maxFetchesPerProcess: number;
  /** Characters of text that are stored per file; the rest is cut off. @default 10000000 */
  readonly maxChars: number;
  /** Characters of one file that the prompt quotes. @default 8000 */
  readonly previewChars: number;
  /** Characters of all files of a message together that the prompt quotes. @default 40000 */
  readonly totalPreviewChars: number;
  /** How long extracting the text of one file may take; later it is shown as timed out. @default 20000 */
  readonly extractTimeoutMs: number;
  /** Memory for extracting the text of one file; beyond it the file is shown as too large. @default 256 */
  readonly extractMemoryMb: number;
}

export const DEFAULT_FILE_LIMITS: FileLimits = {
  maxFiles: 20,
  maxFileBytes: 25_000_000,
  maxTotalBytes: 100_000_000,
  fileTimeoutMs: 60_000,
  totalTimeoutMs: 180_000,
  maxParallel: 4,
  maxParallelPerProcess: 2,
  maxFetchesPerProcess: 16,
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
  maxFetchesPerProcess: COUNT,
  maxChars: COUNT,
  previewChars: AMOUNT,
  totalPreviewChars: AMOUNT,
  extractTimeoutMs: TIMER_MS,
  extractMemoryMb: COUNT,
};
