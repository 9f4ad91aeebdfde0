/**
 * Event streams as a wire: one for each session, read by `fetch`, since an EventSource can't send headers. What they say
 * is put into the shape of a socket's frames. A stream that the server ends for its own reasons is begun again here; when
 * the network is gone they are gone together.
 */
import { ERRORS, type ErrorCode, type SseMessage } from "@turnstream/protocol";
import type { Api } from "../http/api.ts";
import { refusalAtDoor } from "../http/error-response.ts";
import type { ClientError } from "../errors.ts";
import {
  ENDED_QUIETLY,
  errorFrame,
  type Frame,
  frameIn,
  LOST,
  UNAUTHENTICATED,
  type Wire,
  type WireEvents,
} from "./channel.ts";

export function openStreams(api: Api, events: WireEvents, dialect = "native"): Wire {
  const open = new Map<string, AbortController>();
  let isOver = false;

  const end = (code: number, retryAfterMs?: number): void => {
    if (isOver) return;
    close();
    events.closed(code, retryAfterMs);
  };
  const close = (): void => {
    isOver = true;
    for (const leave of open.values()) leave.abort();
    open.clear();
  };
  const refuse = (session_id: string, request_id: string, error: ClientError): void => {
    if (error.code === "UNAUTHENTICATED") return end(UNAUTHENTICATED);
    events.frame({ session_id, ...errorFrame(request_id, error) });
  };

  const read = async (session: string, request: string, cursor: string | null): Promise<void> => {
    const leave = new AbortController();
    open.get(session)?.abort();
    open.set(session, leave);
    const { signal } = leave;
    let retryAfterMs: number | undefined;
    let isAnswered = false;
    const take = (message: SseMessage): void => {
      const frame = frameOf(message, session, dialect);
      if (frame === null || signal.aborted) return;
      // A stream that has to be told anew is not one that was refused.
      if (frame.type === "error") return endOf(frame);
      const isAnswer = !isAnswered && frame.type === "subscribed";
      // Only the first is an answer.
      isAnswered = true;
      events.frame(isAnswer ? { request_id: request, ...frame } : frame);
    };
    const endOf = (frame: Frame): void => {
      leave.abort();
      open.delete(session);
      const { error } = frame as { readonly error?: unknown };
      if (error === "UNAUTHENTICATED") end(UNAUTHENTICATED);
      else events.frame({ type: "unsubscribed", session_id: session, reason: reasonOf(error) });
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
      if (!response.ok) return refuse(session, request, await refusalAtDoor(response));
      // Most pages get a socket, and need no parser.
      const { createSseParser } = await import("./sse-chunk.ts");
      const parser = createSseParser(take, { onRetry: (ms) => (retryAfterMs = ms) });
      const decoder = new TextDecoder();
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      while (!signal.aborted) {
        const { done, value } = await reader.read();
        if (done) break;
        if (!signal.aborted) events.heard();
        parser.push(decoder.decode(value, { stream: true }));
      }
      if (!signal.aborted) end(ENDED_QUIETLY, retryAfterMs);
    } catch {
      if (!signal.aborted) end(LOST);
    }
  };

  // What admitted us was an answer of the same server: there is nothing to wait for.
  queueMicrotask(() => {
    if (!isOver) events.opened();
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

/** The cursor is beside the data: of an event it is `id`, of a snapshot and of other dialects' frames `event_id`. */
function frameOf({ data, id }: SseMessage, session: string, dialect: string): Frame | null {
  const frame = frameIn(data);
  if (frame === null) return null;
  const isEvent = dialect === "native" && frame.type !== "snapshot";
  const cursor = id === undefined ? {} : isEvent ? { id } : { event_id: id };
  return { ...cursor, ...frame, session_id: session };
}

/** After those about the connection one comes back; what is about the session is the end of it. */
function reasonOf(word: unknown): "gone" | "unavailable" {
  const isKnown = typeof word === "string" && Object.hasOwn(ERRORS, word);
  return isKnown && ERRORS[word as ErrorCode].can_retry ? "unavailable" : "gone";
}
