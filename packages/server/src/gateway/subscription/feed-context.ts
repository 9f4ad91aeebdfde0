/**
 * `FeedContext` has the dependencies of session feeds, and `FeedListener` receives the entries of one. Types only.
 * Invariant: a listener gets every entry once and in the order of the log, until `onReset`. Then it may have missed
 * entries and must read again. `onEnd` is the last call.
 */
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { Backend } from "../../session/backend.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { GatewayLimits } from "../gateway-limits.ts";
import type { TimeSlicer } from "../../util/time-slicer.ts";
import type { Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import type { SubscriptionEndReason } from "./subscription.ts";

export interface FeedListener {
  /** Called for each entry, with the position directly before it. */
  onEntry(entry: LogEntry, before: Position): void;
  /** The feed restarted, so entries may have been missed. */
  onReset(): void;
  onEnd(reason: SubscriptionEndReason): void;
}

export interface FeedContext extends Backend {
  readonly limits: Pick<GatewayLimits, "snapshotTurns">;
  /** Creates the function that returns temporary URLs for the blobs of a session. */
  readonly createBlobUrlResolver: (ref: SessionRef) => (blob: string) => string;
  readonly slices: TimeSlicer;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onError: ErrorHandler;
}
