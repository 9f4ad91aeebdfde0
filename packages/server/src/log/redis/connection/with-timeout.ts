/**
 * `withTimeout` rejects with UNAVAILABLE if Redis takes too long. It does not cancel the work.
 *
 * Invariant: see `util/with-timeout.ts`.
 */
import { type TimeoutOptions, withTimeout as waitWithTimeout } from "../../../util/with-timeout.ts";
import { LogError } from "../../errors.ts";

interface RedisTimeout extends Omit<TimeoutOptions<never>, "onTimeout"> {
  /** The start of the error message, such as "No answer". */
  readonly message: string;
}

export function withTimeout<T>(work: Promise<T>, { message, ...timeout }: RedisTimeout): Promise<T> {
  return waitWithTimeout(work, {
    ...timeout,
    onTimeout() {
      throw new LogError("UNAVAILABLE", { detail: `${message} in ${timeout.ms} ms` });
    },
  });
}
