/**
 * `openSocket` and `openEvents` open real connections to a session: a WebSocket with one subscription, or an event
 * stream. Both deliver frames with the cursor as `event_id`; native events have it as `id`. They don't fold frames and
 * don't reconnect.
 */
import { WebSocket } from "ws";
import { EventStreamReader, readStream, type StreamMessage, StreamRefused } from "./event-stream.ts";
import { DONE, type Frame, type ClientDialect } from "./rendered-state.ts";

/** The URL of the server, and the headers that authenticate the client. */
export interface Endpoint {
  /** For example `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ConnectionOptions {
  readonly session: string;
  readonly dialect: ClientDialect;
  /** The cursor to resume after; null starts without one. */
  readonly after: string | null;
}

/** How a connection ended. A refused connection has the error frame of the server. */
export type ConnectionEnd =
  | { readonly type: "cut" | "ended" }
  | { readonly type: "lost"; readonly error: unknown }
  | { readonly type: "refused"; readonly error: Frame };

export interface ConnectionHandlers {
  onFrame(frame: Frame): void;
  onEnd(end: ConnectionEnd): void;
}

export interface Connection {
  /** Drops the connection without a close, like a network failure. No handler is called afterwards. */
  cut(): void;
  /** Sends a command. Only a socket supports it. */
  send(frame: Frame): void;
}

const SUBSCRIBE = "subscribe";

export function openSocket(
  endpoint: Endpoint,
  { session, dialect, after }: ConnectionOptions,
  handlers: ConnectionHandlers,
): Connection {
  const url = `${endpoint.url.replace(/^http/, "ws")}/api/v1/socket?dialect=${dialect}`;
  const socket = new WebSocket(url, { headers: endpoint.headers, perMessageDeflate: false });
  const waiting: Frame[] = [];
  let isOver = false;
  /** True after the server has answered our own `subscribe`. */
  let isSubscribed = false;
  const end = (how: ConnectionEnd): void => {
    if (isOver) return;
    isOver = true;
    socket.terminate();
    handlers.onEnd(how);
  };
  const send = (frame: Frame): void => {
    if (socket.readyState === WebSocket.CONNECTING) waiting.push(frame);
    else socket.send(JSON.stringify(frame));
  };
  socket.on("open", () => waiting.forEach(send));
  socket.on("message", (data) => {
    if (isOver) return;
    const frame = JSON.parse((data as Buffer).toString("utf8")) as Frame;
    // The server can't name the request of a command that it could not parse.
    const request = frame["request_id"] ?? (isSubscribed ? null : SUBSCRIBE);
    isSubscribed ||= frame.type === "subscribed";
    if (frame.type === "error" && request === SUBSCRIBE) end({ type: "refused", error: frame });
    else if (frame.type === "unsubscribed") end({ type: "ended" });
    else handlers.onFrame(frame);
  });
  socket.on("close", () => end({ type: "ended" }));
  socket.on("error", (error) => end({ type: "lost", error }));
  const cursor = after === null ? {} : { last_event_id: after };
  send({ type: "subscribe", request_id: SUBSCRIBE, session_id: session, ...cursor });
  return {
    cut() {
      isOver = true;
      socket.terminate();
    },
    send,
  };
}

export function openEvents(
  endpoint: Endpoint,
  { session, dialect, after }: ConnectionOptions,
  handlers: ConnectionHandlers,
): Connection {
  const leave = new AbortController();
  const cursor = after === null ? {} : { "last-event-id": after };
  const url = `${endpoint.url}/api/v1/sessions/${session}/events?dialect=${dialect}`;
  const reader = new EventStreamReader();
  const end = (how: ConnectionEnd): void => {
    if (!leave.signal.aborted) handlers.onEnd(how);
  };
  const take = (frame: Frame): void => {
    if (leave.signal.aborted) return;
    if (frame.type === "error") {
      end({ type: "refused", error: frame });
      leave.abort();
    } else handlers.onFrame(frame);
  };
  readStream(url, { headers: { ...endpoint.headers, ...cursor }, signal: leave.signal }, (text) => {
    const messages = reader.push(text);
    for (const comment of reader.comments.splice(0)) parseComment(comment).forEach(take);
    for (const message of messages) take(frameOf(message, dialect));
  }).then(
    () => end({ type: "ended" }),
    (error: unknown) => {
      if (!(error instanceof StreamRefused)) end({ type: "lost", error });
      else end({ type: "refused", error: { type: "error", ...(JSON.parse(error.body) as object) } });
    },
  );
  return {
    cut: () => leave.abort(),
    send: () => {
      throw new Error("an event stream takes no commands");
    },
  };
}

/** Reads the comment that reports whether the stream resumed. `responses` has no frame for it. */
function parseComment(comment: string): Frame[] {
  const [, not, reason] = /^(not )?resumed: (\w+)$/.exec(comment) ?? [];
  return reason === undefined ? [] : [{ type: "subscribed", resumed: not === undefined, reason }];
}

function frameOf({ id, data }: StreamMessage, dialect: ClientDialect): Frame {
  const frame = data === DONE ? { type: DONE } : (JSON.parse(data) as Frame);
  if (id === null) return frame;
  const isEvent = dialect === "native" && frame.type !== "snapshot";
  return { ...frame, [isEvent ? "id" : "event_id"]: id };
}
