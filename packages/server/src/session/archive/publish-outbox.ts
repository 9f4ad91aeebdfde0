/**
 * `publishOutbox` publishes the outbox rows of a command to the session's log, and reopens the log if no turn runs.
 *
 * Invariant: it throws no error of the log or store. The rows are committed, and a worker's relay publishes them later.
 */
import { isLogError } from "../../log/errors.ts";
import { isStoreError } from "../../store/errors.ts";
import type { SessionRef } from "../../util/refs.ts";
import { reopenIdleLog } from "../lifecycle/create.ts";
import type { Backend } from "../backend.ts";
import { publishCommitted } from "./relay-outbox.ts";

export async function publishOutbox(backend: Backend, ref: SessionRef): Promise<void> {
  try {
    const { failure } = await publishCommitted(backend, ref);
    if (failure === null) return;
    if (isLogError(failure, "UNCLAIMED")) {
      await reopenIdleLog(backend, ref);
      if ((await publishCommitted(backend, ref)).failure === null) return;
    }
    // A relay doesn't wait for the turn of a message that is not in the log.
    await backend.store.outbox.postpone(ref);
  } catch (error) {
    if (!isLogError(error) && !isStoreError(error)) throw error;
  }
}
