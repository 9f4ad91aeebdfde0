/**
 * `withTimeout` rejects with UNAVAILABLE if Redis takes too long. It does not cancel the work.
 *
 * Invariant: see `util/with-timeout.ts`.
 */
import { withTimeout as waitWithTimeout } from "../../../util/with-timeout.ts";
import { LogError } from "../../errors.ts";

export interface TimeoutOptions {
  readonly ms: number;
  /** The start of the error message, such as "No answer". */
  readonly message: string;
  /** Keeps the process alive while it waits. @default false */
  readonly keepAlive?: boolean;
}

export function withTimeout<T>(
  work: Promise<T>,
  { ms, message, keepAlive = false }: TimeoutOptions,
): Promise<T> {
  return waitWithTimeout(work, {
    ms,
    keepAlive,
    onTimeout() {
      throw new LogError("UNAVAILABLE", { detail: `${message} in ${ms} ms` });
    },
  });
}
