/**
 * `runInParallel` runs a function for every item, for several at a time. For cases that mostly wait.
 * Invariant: it starts the items in order, and rejects with the first error.
 */
const WIDTH = 6;

export async function runInParallel<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const takeItems = async (): Promise<void> => {
    for (const item of queue) await run(item);
  };
  await Promise.all(Array.from({ length: WIDTH }, takeItems));
}
