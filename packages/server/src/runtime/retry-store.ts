/** Does something in the store again while the store is away for a moment, as long as this worker may go on. */
import { isStoreError } from "../store/errors.ts";
import type { RuntimeContext } from "./attempt/context.ts";

const PATIENCE_MS = 20_000;
const RETRY_MS = 200;

/** For what is known only here, such as what a tool has done: it isn't given up for a database that is away. */
export async function patiently<T>(
  parts: Pick<RuntimeContext, "env" | "holdsLease">,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = parts.env.now() + PATIENCE_MS;
  while (true) {
    try {
      return await work();
    } catch (error) {
      const mayPass = isStoreError(error, "UNAVAILABLE") || isStoreError(error, "BUSY");
      if (!mayPass || !parts.holdsLease() || parts.env.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
