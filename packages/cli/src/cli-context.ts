/**
 * `CliContext` is the environment of a command. `UsageError` and `CommandError` are the two ways in which a command
 * fails.
 * Invariant: commands read variables and write output only through the context, so that tests run them in one process.
 * `run` prints the messages of both errors, so they must not contain a password or secret.
 */

/** The file with variables in the current folder. */
export const ENV_FILE = ".env";

export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The absolute path of the current folder. */
  readonly folder: string;
  /** Reads `ENV_FILE` into `env`, also after a change. It never overrides a variable of the shell. */
  loadEnv(): void;
  /** Whether stderr is a terminal. Progress that overwrites itself is shown only then. */
  readonly isTerminal: boolean;
  /** Properties of stdout. `columns` is null if it is not a terminal. */
  readonly columns: number | null;
  readonly hasColors: boolean;
  /** The version of Node, such as "24.1.0". */
  readonly nodeVersion: string;
  /** Milliseconds since 1970, by the clock of this machine. */
  now(): number;
  out(text: string): void;
  err(text: string): void;
  /** Aborted when the user presses Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The arguments are invalid: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** The arguments are valid, but the command failed: exit code 1. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CommandError";
  }
}
