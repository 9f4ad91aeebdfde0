/**
 * `FileLimits` bounds how much of a message's files is read, and how long that may take.
 *
 * Invariant: reaching a limit shows the file as failed or cut, or makes it wait. It never fails the turn.
 */
import { z } from "zod";
import { integer, type OptionsInput, type OptionsOutput } from "../../util/parse-options.ts";
import { MAX_TIMER_MS } from "../../util/sleep.ts";

const fileLimitShape = {
  /** Files of one message that are read. Further files fail. @default 20 */
  maxFiles: integer().default(20),
  /** Size of one file. A larger file fails. @default 25000000 */
  maxFileBytes: integer().default(25_000_000),
  /** Size of all files of one message. The known size counts, otherwise the received bytes. @default 100000000 */
  maxTotalBytes: integer().default(100_000_000),
  /** Time to read one file. @default 60000 */
  fileTimeoutMs: integer(1, MAX_TIMER_MS).default(60_000),
  /** Time to read all files of one message. @default 180000 */
  totalTimeoutMs: integer(1, MAX_TIMER_MS).default(180_000),
  /** Files of one message that are read at the same time. @default 4 */
  maxParallel: integer(1).default(4),
  /** Files that are read at the same time in this process. [Tenants take turns](agents.md#fairness). @default 2 */
  maxParallelPerProcess: integer(1).default(2),
  /**
   * Files that are fetched from URLs at the same time in this process. [Tenants take turns](agents.md#fairness). A
   * fetched file waits in such a slot until it is read, so at most this many times `maxFileBytes` wait in memory.
   * @default 16
   */
  maxFetchesPerProcess: integer(1).default(16),
  /** Characters of one file that are stored. Longer text is truncated. @default 10000000 */
  maxChars: integer(1).default(10_000_000),
  /** Characters of one file that the model reads without asking. @default 8000 */
  previewChars: integer().default(8_000),
  /** Characters of all files of one message that the model reads without asking. @default 40000 */
  totalPreviewChars: integer().default(40_000),
  /** Time to extract the text of one file. @default 20000 */
  extractTimeoutMs: integer(1, MAX_TIMER_MS).default(20_000),
  /** Memory to extract the text of one file. @default 256 */
  extractMemoryMb: integer(1).default(256),
};

export interface FileLimitOptions extends OptionsInput<typeof fileLimitShape> {}

export interface FileLimits extends OptionsOutput<typeof fileLimitShape> {}

export const fileLimits: z.ZodType<FileLimits, FileLimitOptions> = z.strictObject(fileLimitShape);
