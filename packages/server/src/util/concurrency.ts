/**
 * `allOrAbort` waits for concurrent promises and aborts the others when one fails. `abortable` stops waiting when a
 * signal is aborted.
 * Invariant: `allOrAbort` settles only after all branches have settled, so no work still runs when the caller
 * continues. It throws the first error and aborts once. `abortable` does not stop the work, and handles its late
 * rejection.
 */

/**
 * @param abort stops the other branches. Called once, with the first error.
 * @throws the first error, after all branches have settled
 */
export async function allOrAbort<T>(
  branches: readonly Promise<T>[],
  abort: (error: unknown) => void,
): Promise<T[]> {
  try {
    return await Promise.all(branches);
  } catch (error) {
    abort(error);
    await Promise.allSettled(branches);
    throw error;
  }
}

/**
 * Resolves with the result of `work`, or rejects with the signal's reason if that is aborted first. It does not stop
 * the work.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
