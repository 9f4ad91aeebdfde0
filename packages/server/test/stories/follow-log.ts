/** Follows the log of a story as it is written. Every wait has a timeout. */
import type { SessionEvent } from "@turnstream/protocol";
import type { SessionRef } from "../../src/util/refs.ts";
import type { TurnHarness } from "../engine/turn-harness.ts";

export const TIMEOUT_MS = 40_000;

/** Returns the entries after a cursor and the following ones, until the caller stops. */
export async function* eventsAfter(
  { backend }: TurnHarness,
  ref: SessionRef,
  after: string,
  timeoutMs: number = TIMEOUT_MS,
): AsyncGenerator<SessionEvent> {
  const signal = AbortSignal.timeout(timeoutMs);
  for await (const delivery of backend.log.attach(ref, { after, signal })) {
    if (delivery.type === "end") throw new Error(`the log ended: ${delivery.reason}`);
    for (const { event } of delivery.entries) yield event;
  }
  throw new Error(`the turn has not ended within ${timeoutMs} ms`);
}
