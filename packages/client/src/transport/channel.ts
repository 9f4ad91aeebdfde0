/**
 * What carries frames: a socket for all sessions, or an event stream for each. Both say the same, in the shape of a
 * socket's frames. The port, and what such frames are read from and made of.
 */
import type { SocketCommand } from "@turnstream/protocol/schema";
import type { ClientError } from "../errors.ts";

/** As it came: nothing in it is sure but that it has a type. */
export interface Frame {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Channel {
  /** The answer comes as a frame with this `request_id`: `subscribed`, or `error`. */
  subscribe(session: string, request: string, cursor: string | null): void;
  unsubscribe(session: string): void;
  /** Null where the channel carries no commands. */
  readonly send: ((command: SocketCommand) => void) | null;
  /** Whether nothing is open over which anything could come: then silence means nothing. */
  readonly isIdle?: () => boolean;
  /** Nothing is received afterwards. */
  close(): void;
}

export interface ChannelEvents {
  onOpen(): void;
  /** Anything at all came: the other side is there. */
  onReceive(): void;
  onFrame(frame: Frame): void;
  /** The last call. Codes are those of sockets; 1006 when nobody said why. */
  onClose(code: number, retryAfterMs?: number): void;
}

/** A refusal as a socket tells it. */
export function errorFrame(request_id: string, error: ClientError): Frame {
  const { code, message, canRetry: can_retry, retryAfterSeconds: seconds } = error;
  const retry = seconds === null ? {} : { retry_after_seconds: seconds };
  return { type: "error", request_id, error: code, message, can_retry, ...retry };
}

export function parseFrame(text: string): Frame | null {
  try {
    const frame: unknown = JSON.parse(text);
    const isFrame = typeof frame === "object" && frame !== null && "type" in frame;
    return isFrame && typeof frame.type === "string" ? (frame as Frame) : null;
  } catch {
    return null;
  }
}

/** Close codes of sockets, which other channels use too. */
export const CLOSE_RESTART = 1012;
export const CLOSE_LOST = 1006;
export const CLOSE_UNAUTHENTICATED = 4401;
