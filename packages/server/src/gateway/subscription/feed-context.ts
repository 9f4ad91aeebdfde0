/** What feeds are made of. Types only. */
import type { Parts } from "../../session/backend.ts";
import type { Ref } from "../../store/refs.ts";
import type { GatewayLimits } from "../options.ts";
import type { Slices } from "../../util/time-slicer.ts";

export interface FeedParts extends Parts {
  readonly limits: Pick<GatewayLimits, "turns">;
  /** Addresses under which the blobs of a session can be loaded for a while. */
  readonly addressesOf: (ref: Ref) => (blob: string) => string;
  readonly slices: Slices;
  readonly pause: (ms: number) => Promise<void>;
  readonly onError: (error: unknown, about: string) => void;
}
