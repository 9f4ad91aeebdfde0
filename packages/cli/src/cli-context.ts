/** What a command sees of the world, and the two ways in which one fails. Types and errors only. */

export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether somebody watches: only then is progress shown. */
  readonly isTerminal: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Aborted when the person presses Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The command line isn't what a command takes: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** The command was understood and could not be done: exit code 1. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandError";
  }
}
