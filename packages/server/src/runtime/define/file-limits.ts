/** How much of the files of a message is read, and how long that may take. Values only. */
export interface FileLimits {
  /** How many files of one message are read; the rest is told as not read. */
  readonly count: number;
  /** How large one may be, and all of one message together. */
  readonly bytes: number;
  readonly totalBytes: number;
  /** How long one may take, and all of one message together. */
  readonly fileMs: number;
  readonly totalMs: number;
  /** How many of one message are read side by side, and how many in this process. */
  readonly width: number;
  readonly processWidth: number;
  /** How much text of one is kept. */
  readonly chars: number;
  /** How much of one the model is shown unasked, and of all of one message together. */
  readonly shownChars: number;
  readonly totalShownChars: number;
  /** What reading the text of one may take. */
  readonly extractMs: number;
  readonly extractMb: number;
}

export const DEFAULT_FILE_LIMITS: FileLimits = {
  count: 20,
  bytes: 25_000_000,
  totalBytes: 100_000_000,
  fileMs: 60_000,
  totalMs: 180_000,
  width: 4,
  processWidth: 8,
  chars: 10_000_000,
  shownChars: 8_000,
  totalShownChars: 40_000,
  extractMs: 20_000,
  extractMb: 256,
};
