/**
 * `FileLimits` bounds how much of a message's files is read, and how long that may take.
 *
 * Invariant: reaching a limit shows the file as failed or cut, or makes it wait. It never fails the turn.
 */
import { z } from "zod";
import { integer, type OptionsInput, type OptionsOutput } from "../../util/parse-options.ts";
import { MAX_TIMER_MS } from "../../util/sleep.ts";

/** Files that a process reads at the same time; tenants and their users take turns for these slots. */
export const PARALLEL_FILES = 2;
/**
 * Files that a process fetches from URLs at the same time; tenants and their users take turns. A fetched file waits for
 * its reading in such a slot, so at most this many times `maxFileBytes` wait in memory.
 */
export const PARALLEL_FETCHES = 16;
/** Memory for extracting the text of one file; beyond it the file is shown as too large. */
export const EXTRACT_MEMORY_MB = 256;

const fileLimitShape = {
  /** Files of one message that are read. Further files fail. @default 20 */
  maxFiles: integer().default(20),
  /** Size of one file. A larger file fails. @default 25000000 */
  maxFileBytes: integer().default(25_000_000),
  /** Size of all files of one message. The known size counts, otherwise the received bytes. @default 100000000 */
  maxTotalBytes: integer().default(100_000_000),
  /** Time to read one file. @default 60000 */
  fileTimeoutMs: integer(1, MAX_TIMER_MS).default(60_000),
  /** Files of one message that are read at the same time. @default 4 */
  maxParallel: integer(1).default(4),
  /** Characters of one file that are stored. Longer text is truncated. @default 10000000 */
  maxChars: integer(1).default(10_000_000),
  /** Time to extract the text of one file. @default 20000 */
  extractTimeoutMs: integer(1, MAX_TIMER_MS).default(20_000),
};

export interface FileLimitOptions extends OptionsInput<typeof fileLimitShape> {}

export interface FileLimits extends OptionsOutput<typeof fileLimitShape> {}

export const fileLimits: z.ZodType<FileLimits, FileLimitOptions> = z.strictObject(fileLimitShape);
