/** What the transports of the gateway share: what handlers work with, and what they give back. Types only. */
import type { ErrorHandler } from "../util/error-handler.ts";
import type { Json } from "@turnstream/protocol";
import type { CommandBackend } from "../session/backend.ts";
import type { Env } from "../util/env.ts";
import type { TimeSlicer } from "../util/time-slicer.ts";
import type { FrameSink, StreamEvents } from "./connection/frame-sink.ts";
import type { SessionFeeds } from "./feed/session-feeds.ts";
import type { GatewayLimits } from "./options.ts";

/** What every handler works with. */
export interface GatewayContext extends CommandBackend {
  readonly feeds: SessionFeeds;
  readonly slices: TimeSlicer;
  readonly env: Env;
  readonly limits: GatewayLimits;
  readonly secrets: readonly [string, ...string[]];
  /** What stands before the token of a blob. */
  readonly blobBase: string;
  readonly onError: ErrorHandler;
}

/** An event stream: called once the head is sent. What it gives back hears what becomes of the connection. */
export type StreamHandler = (sink: FrameSink) => StreamEvents;

export type RouteResult =
  | {
      readonly status: number;
      readonly json: Json | object;
      readonly headers?: ResponseHeaders;
      /** The session that was made: what is remembered of the answer goes with it. */
      readonly session?: string;
    }
  /** JSON that was written piece by piece, because it is long. */
  | { readonly status: number; readonly jsonText: string; readonly headers?: ResponseHeaders }
  | {
      readonly status: number;
      readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
      readonly headers: ResponseHeaders;
    }
  | { readonly status: number; readonly stream: StreamHandler; readonly headers?: ResponseHeaders }
  | { readonly status: 204 | 304; readonly headers?: ResponseHeaders };

type ResponseHeaders = Readonly<Record<string, string>>;
