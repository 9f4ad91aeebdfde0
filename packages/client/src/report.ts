/**
 * `createReporter` passes errors and events of a client to the functions of the app, and to the console with `debug`.
 * Invariant: an error is reported once, and a cancelled operation is no error. A function that throws never disturbs the
 * client. Nothing here contains a token: addresses have no query, and commands only their type.
 */
import type { SessionEvent } from "@turnstream/protocol";
import { type ClientError, type ClientErrorCode, toClientError } from "./errors.ts";
import type { ConnectionView } from "./transport/status.ts";

/** What a client does, for logs and debuggers. */
export type ClientEvent =
  /** A response arrived, or the request failed: then `status` is null. */
  | {
      readonly type: "request";
      readonly method: string;
      readonly url: string;
      readonly status: number | null;
      readonly requestId: string | null;
      readonly durationMs: number;
    }
  | { readonly type: "connection"; readonly sessionId: string; readonly connection: ConnectionView }
  /** The server accepted a subscription. Without `resumed`, a snapshot follows. */
  | {
      readonly type: "subscribed";
      readonly sessionId: string;
      readonly resumed: boolean;
      readonly reason: string;
    }
  | { readonly type: "command"; readonly sessionId: string; readonly command: string }
  /** An event of the session arrived, also if the client already has it. */
  | { readonly type: "event"; readonly sessionId: string; readonly event: SessionEvent };

export interface ReportOptions {
  /**
   * Called for every error, also for those from which the client recovers by itself: a lost connection that it opens
   * again, or a full storage.
   */
  readonly onError?: (error: ClientError) => void;
  /** Called for requests, commands, changes of a connection, and events of sessions. */
  readonly onEvent?: (event: ClientEvent) => void;
  /** Writes errors and events to the console. @default false */
  readonly debug?: boolean;
}

export interface Reporter {
  /** Wraps an error that is no `ClientError`, reports it and returns it. */
  error(error: unknown, code?: ClientErrorCode, message?: string): ClientError;
  /** Undefined if no one listens, so that a caller creates no event in vain: `report.event?.({ … })`. */
  readonly event: ((event: ClientEvent) => void) | undefined;
}

export function createReporter({ onError, onEvent, debug = false }: ReportOptions = {}): Reporter {
  const reported = new WeakSet<ClientError>();
  const call = <T>(listener: ((value: T) => void) | undefined, value: T): void => {
    if (debug) log("turnstream", value);
    try {
      listener?.(value);
    } catch (error) {
      log("turnstream", error);
    }
  };
  return {
    error(cause, code = "OFFLINE", message = "The client failed.") {
      const error = toClientError(cause, code, message);
      if (error.code === "ABORTED" || reported.has(error)) return error;
      reported.add(error);
      call(onError, error);
      return error;
    },
    event: onEvent === undefined && !debug ? undefined : (event) => call(onEvent, event),
  };
}

function log(...values: readonly unknown[]): void {
  // oxlint-disable-next-line no-console -- the app asked for it, or its own function failed
  console.debug(...values);
}

/** For parts that are used without a client. */
export const NO_REPORTS: Reporter = createReporter();
