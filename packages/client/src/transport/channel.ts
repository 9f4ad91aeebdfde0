/**
 * `Channel` is the port for frames: one socket for all sessions, or one event stream per session. `parseFrame` and
 * `errorFrame` parse and build its frames.
 * Invariant: every channel delivers frames in the form of socket frames. `onClose` is the last event, and nothing is
 * reported after `close`. Received frames are untrusted: only their type is checked.
 */
import type { SocketCommand } from "@turnstream/protocol/schema";
import { ClientError } from "../errors.ts";

/** A received frame. It is untrusted; only its type is checked. */
export interface Frame {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Channel {
  /** Subscribes. The reply is a frame with this `request_id`: `subscribed` or `error`. */
  subscribe(session: string, request: string, cursor: string | null): void;
  unsubscribe(session: string): void;
  /** Null if the channel can't send commands. */
  readonly send: ((command: SocketCommand) => void) | null;
  /** Returns true if nothing is open that could receive frames; then silence is no sign of a lost connection. */
  readonly isIdle?: () => boolean;
  /** Closes the channel. No event is reported after this. */
  close(): void;
}

export interface ChannelEvents {
  onOpen(): void;
  /** Called for any received data: the server is alive. */
  onReceive(): void;
  onFrame(frame: Frame): void;
  /** Called before `onClose` with its cause, and for a message that is not a frame. */
  onError(error: ClientError): void;
  /** The last event. Codes are those of sockets; 1006 if no reason is known. */
  onClose(code: number, retryAfterMs?: number): void;
}

/** Returns an error in the form of a socket frame. */
export function errorFrame(request_id: string, error: ClientError): Frame {
  return { type: "error", request_id, original: error };
}

/** Returns null and reports an error if the text is not a frame. */
export function parseFrame(text: string, { onError }: Pick<ChannelEvents, "onError">): Frame | null {
  let cause: unknown = null;
  try {
    const frame: unknown = JSON.parse(text);
    const isFrame = typeof frame === "object" && frame !== null && "type" in frame;
    if (isFrame && typeof frame.type === "string") return frame as Frame;
  } catch (error) {
    cause = error;
  }
  onError(
    new ClientError("SERVER_ERROR", "The server sent no frame.", {
      cause: cause ?? new Error(text.slice(0, 100)),
    }),
  );
  return null;
}

/** The error of a channel that was lost. */
export function lostChannelError(cause: unknown): ClientError {
  return new ClientError("OFFLINE", "The connection was lost.", { canRetry: true, cause });
}

/** Close codes of sockets, which other channels also use. */
export const CLOSE_RESTART = 1012;
export const CLOSE_LOST = 1006;
export const CLOSE_UNAUTHENTICATED = 4401;
