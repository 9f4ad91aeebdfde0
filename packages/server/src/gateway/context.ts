/**
 * `GatewayContext` has the dependencies that all handlers of the gateway share. `RouteResult` is what a route returns.
 * Types only.
 * Invariant: a route returns its result and never writes to the connection. A `stream` starts only after the response
 * head was sent. http/handle-request.ts handles every variant. http/idempotency.ts stores only the body of `json`, so
 * a route with `idempotent: true` must not return `jsonText`.
 */
import type { Json } from "@turnstream/protocol";
import type { BlobOwner } from "../store/rules/blob-token.ts";
import type { TimeSlicer } from "../util/time-slicer.ts";
import type { CommandContext } from "./command.ts";
import type { SignIn } from "./auth/sign-in.ts";
import type { TokenRules } from "./auth/tokens.ts";
import type { FrameSink, StreamEvents } from "./connection/frame-sink.ts";
import type { GatewayAudit } from "./auth/gateway-audit.ts";
import type { SessionFeeds } from "./feed/session-feeds.ts";
import type { CallerLimiter } from "./limits/caller-limiter.ts";
import type { GatewayLimits } from "./gateway-limits.ts";
import type { ReportOnce } from "../util/error-handler.ts";
import type { ReportSecurityEvent } from "../util/security-event.ts";

/** Passed to every handler. */
export interface GatewayContext extends CommandContext {
  readonly feeds: SessionFeeds;
  readonly slices: TimeSlicer;
  readonly limits: GatewayLimits;
  /** Refuses callers that exceed their limits. */
  readonly limiter: CallerLimiter;
  /** Reports a mistake in the setup to the operator, once. */
  readonly reportOnce: ReportOnce;
  /** Reports an event to `onSecurityEvent`. Never throws. */
  readonly reportSecurityEvent: ReportSecurityEvent;
  readonly audit: GatewayAudit;
  readonly secrets: readonly [string, ...string[]];
  readonly tokenRules: TokenRules;
  /** The types of all webhook events. */
  readonly webhookEvents: readonly string[];
  /** Null if the app creates the tokens of its users itself. */
  readonly signIn: SignIn | null;
  /** Creates the function that returns temporary URLs for the blobs of a session or a share. */
  readonly createBlobUrlResolver: (owner: BlobOwner) => (blob: string) => string;
}

/**
 * Starts an event stream after the response head is sent. The returned object receives the events of the connection.
 */
export type StreamHandler = (sink: FrameSink) => StreamEvents;

export type RouteResult =
  | {
      readonly status: number;
      readonly json: Json | object;
      readonly headers?: ResponseHeaders;
      /** The session that the request created. The stored idempotent response is deleted together with it. */
      readonly session?: string;
    }
  /** JSON that was stringified in slices, because it is long. */
  | { readonly status: number; readonly jsonText: string; readonly headers?: ResponseHeaders }
  | {
      readonly status: number;
      readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
      readonly headers: ResponseHeaders;
    }
  | { readonly status: number; readonly stream: StreamHandler; readonly headers?: ResponseHeaders }
  | { readonly status: 204 | 302 | 303 | 304; readonly headers?: ResponseHeaders };

type ResponseHeaders = Readonly<Record<string, string>>;
