/**
 * `allOrAbort` waits for concurrent promises and aborts the others when one fails. `abortable` stops waiting when a
 * signal is aborted, and `untilAborted` waits for that.
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
  let first: { readonly error: unknown } | null = null;
  const watched = branches.map(async (branch) => {
    try {
      return await branch;
    } catch (error) {
      if (first === null) {
        first = { error };
        abort(error);
      }
      throw error;
    }
  });
  const results = await Promise.allSettled(watched);
  const failed = first as { readonly error: unknown } | null;
  if (failed !== null) throw failed.error;
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

/**
 * Resolves with the result of `work`, or rejects with the signal's reason if that is aborted first. It does not stop
 * the work.
 */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    void settle();
    async function settle(): Promise<void> {
      try {
        resolve(await work);
      } catch (error) {
        reject(error);
      } finally {
        signal.removeEventListener("abort", stop);
      }
    }
  });
}

/** Rejects with the signal's reason when it is aborted. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return abortable(new Promise<never>(() => {}), signal);
}
