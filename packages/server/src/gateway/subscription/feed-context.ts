/** What feeds are made of. Types only. */
import type { Backend } from "../../session/backend.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { GatewayLimits } from "../options.ts";
import type { TimeSlicer } from "../../util/time-slicer.ts";

export interface FeedContext extends Backend {
  readonly limits: Pick<GatewayLimits, "snapshotTurns">;
  /** Addresses under which the blobs of a session can be loaded for a while. */
  readonly addressesOf: (ref: SessionRef) => (blob: string) => string;
  readonly slices: TimeSlicer;
  readonly pause: (ms: number) => Promise<void>;
  readonly onError: (error: unknown, about: string) => void;
}
