/** Tries again while Redis or PostgreSQL can't be reached, for as long as viewers are let wait. */
import { isLogError } from "../../log/errors.ts";
import { isStoreError } from "../../store/errors.ts";

const GIVE_UP_MS = 30_000;
const PAUSE_MS = 100;

export async function patiently<T>(
  work: () => Promise<T>,
  pause: (ms: number) => Promise<void>,
  signal: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + GIVE_UP_MS;
  while (true) {
    try {
      return await work();
    } catch (error) {
      const mayPass = isLogError(error, "UNAVAILABLE") || isStoreError(error, "UNAVAILABLE");
      if (!mayPass || signal.aborted || performance.now() > deadline) throw error;
      await pause(PAUSE_MS);
    }
  }
}
