/**
 * Brings what a command has committed to the log of a session in which nothing may be running. The commit stands: what
 * can't be told now, a relay tells later.
 */
import { isLogError } from "../../log/errors.ts";
import { isStoreError } from "../../store/errors.ts";
import type { Ref } from "../../store/refs.ts";
import { reopenIdle } from "../lifecycle/create.ts";
import type { Parts } from "../backend.ts";
import { deliverCommitted } from "./relay-outbox.ts";

export async function deliver(parts: Parts, ref: Ref): Promise<void> {
  try {
    const { failure } = await deliverCommitted(parts, ref);
    if (failure === null || !isLogError(failure, "UNCLAIMED")) return;
    await reopenIdle(parts, ref);
    await deliverCommitted(parts, ref);
  } catch (error) {
    if (!isLogError(error) && !isStoreError(error)) throw error;
  }
}
