/** What feeds work with. Types only. */
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { Backend } from "../../session/backend.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { GatewayLimits } from "../options.ts";
import type { TimeSlicer } from "../../util/time-slicer.ts";
import type { Position } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import type { SubscriptionEndReason } from "./subscription.ts";

export interface FeedListener {
  /** An entry, and the position right before it. */
  onEntry(entry: LogEntry, before: Position): void;
  /** The feed restarted: entries in between may have been missed. */
  onReset(): void;
  onEnd(reason: SubscriptionEndReason): void;
}

export interface FeedContext extends Backend {
  readonly limits: Pick<GatewayLimits, "snapshotTurns">;
  /** URLs from which the blobs of a session can be loaded for a while. */
  readonly createBlobUrlResolver: (ref: SessionRef) => (blob: string) => string;
  readonly slices: TimeSlicer;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onError: ErrorHandler;
}
