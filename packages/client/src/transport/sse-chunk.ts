/**
 * `openEventStreams` opens event streams as a channel, one per session. It uses `fetch`, because an EventSource can't send
 * headers, and converts messages to the form of socket frames.
 * Invariant: only sse.ts imports this file, and only dynamically. An error frame ends only the stream of its session. If the server ends a stream without one, or the
 * network is lost, the whole channel closes.
 */
import { createSseParser, ERRORS, type ErrorCode, type SseMessage } from "@turnstream/protocol";
import type { Api } from "../http/api.ts";
import { errorFromConnectResponse } from "../http/error-response.ts";
import type { ClientError } from "../errors.ts";
import {
  CLOSE_RESTART,
  errorFrame,
  type Frame,
  lostChannelError,
  parseFrame,
  CLOSE_LOST,
  CLOSE_UNAUTHENTICATED,
  type Channel,
  type ChannelEvents,
} from "./channel.ts";

export function openEventStreams(api: Api, events: ChannelEvents, dialect: string): Channel {
  const open = new Map<string, AbortController>();
  let isOver = false;

  const end = (code: number, retryAfterMs?: number): void => {
    if (isOver) return;
    close();
    events.onClose(code, retryAfterMs);
  };
  const close = (): void => {
    isOver = true;
    for (const abort of open.values()) abort.abort();
    open.clear();
  };
  const refuse = (session_id: string, request_id: string, error: ClientError): void => {
    if (error.code === "UNAUTHENTICATED") return end(CLOSE_UNAUTHENTICATED);
    events.onFrame({ session_id, ...errorFrame(request_id, error) });
  };

  const read = async (session: string, request: string, cursor: string | null): Promise<void> => {
    const abort = new AbortController();
    open.get(session)?.abort();
    open.set(session, abort);
    const { signal } = abort;
    let retryAfterMs: number | undefined;
    let hasReply = false;
    const onMessage = (message: SseMessage): void => {
      const frame = toFrame(message, session, dialect, events);
      if (frame === null || signal.aborted) return;
      if (frame.type === "error") return endStream(frame);
      const isReply = !hasReply && frame.type === "subscribed";
      // Only the first frame is the reply.
      hasReply = true;
      events.onFrame(isReply ? { request_id: request, ...frame } : frame);
    };
    const endStream = (frame: Frame): void => {
      abort.abort();
      open.delete(session);
      if (frame["error"] === "UNAUTHENTICATED") end(CLOSE_UNAUTHENTICATED);
      // As the first frame, an error is the reply to the request. Later it ends the subscription.
      else if (!hasReply) events.onFrame({ ...frame, request_id: request });
      else events.onFrame({ type: "unsubscribed", session_id: session, reason: endReason(frame) });
    };
    try {
      const response = await api.request(
        `/sessions/${encodeURIComponent(session)}/events?dialect=${dialect}`,
        {
          headers: cursor === null ? {} : { "last-event-id": cursor },
          signal,
        },
      );
      if (signal.aborted) return;
      if (!response.ok) return refuse(session, request, await errorFromConnectResponse(response));
      const parser = createSseParser(onMessage, { onRetry: (ms) => (retryAfterMs = ms) });
      const decoder = new TextDecoder();
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      while (!signal.aborted) {
        const { done, value } = await reader.read();
        if (done) break;
        if (!signal.aborted) events.onReceive();
        parser.push(decoder.decode(value, { stream: true }));
      }
      if (!signal.aborted) end(CLOSE_RESTART, retryAfterMs);
    } catch (error) {
      if (signal.aborted) return;
      events.onError(lostChannelError(error));
      end(CLOSE_LOST);
    }
  };

  // The same server already issued the ticket, so there is nothing to wait for.
  queueMicrotask(() => {
    if (!isOver) events.onOpen();
  });
  return {
    subscribe: (session, request, cursor) => void read(session, request, cursor),
    unsubscribe(session) {
      open.get(session)?.abort();
      open.delete(session);
    },
    send: null,
    close,
  };
}

/** The cursor is next to the data: `id` for an event, `event_id` for a snapshot and for frames of other dialects. */
function toFrame(
  { data, id }: SseMessage,
  session: string,
  dialect: string,
  events: ChannelEvents,
): Frame | null {
  const frame = parseFrame(data, events);
  if (frame === null) return null;
  const isEvent = dialect === "native" && frame.type !== "snapshot";
  const cursor = id === undefined ? {} : isEvent ? { id } : { event_id: id };
  return { ...cursor, ...frame, session_id: session };
}

/** After a retryable error the client subscribes again; any other error ends the subscription. */
function endReason({ can_retry: canRetry, error }: Frame): "gone" | "unavailable" {
  if (typeof canRetry === "boolean") return canRetry ? "unavailable" : "gone";
  const isKnown = typeof error === "string" && Object.hasOwn(ERRORS, error);
  return isKnown && !ERRORS[error as ErrorCode].can_retry ? "gone" : "unavailable";
}
