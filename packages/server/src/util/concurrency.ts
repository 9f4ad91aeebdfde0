/** Branches that work side by side: when one fails the others are told, and nobody goes on before all have stopped. */

/** @param abort tells the others to stop; called with the first error, once */
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

/** The work's result, unless the signal is aborted first: then its reason is thrown and the work is left alone. */
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
