/**
 * `openWebSocket` opens a WebSocket as a channel. It opens once and never reconnects by itself.
 * Invariant: in a page the address contains only a ticket, never the credentials; elsewhere the credentials are
 * headers. After `close` it reports nothing. A message that is not a frame is ignored.
 */
import type { SocketCommand } from "@turnstream/protocol/schema";
import { credentialHeaders, type Credentials } from "../auth/auth.ts";
import type { ClientEnv } from "../env.ts";
import { lostChannelError, parseFrame, type Channel, type ChannelEvents } from "./channel.ts";

export interface WebSocketOptions {
  /** The base address, including `/api/v1`. */
  readonly base: string;
  readonly ticket: string;
  readonly credentials: Credentials;
  readonly dialect: string;
}

export function openWebSocket(
  { base, ticket, credentials, dialect }: WebSocketOptions,
  env: Pick<ClientEnv, "WebSocket" | "page">,
  events: ChannelEvents,
): Channel {
  // In a page, the address of the server can be a path.
  const address = new URL(`${base}/socket`, typeof location === "undefined" ? undefined : location.href);
  address.protocol = address.protocol.replace("http", "ws");
  address.searchParams.set("dialect", dialect);
  const socket = env.page.isPage
    ? new env.WebSocket(withTicket(address, ticket))
    : new env.WebSocket(address, withHeaders(credentials));
  let isClosed = false;
  const end = (code: number): void => {
    if (isClosed) return;
    isClosed = true;
    events.onClose(code);
  };
  socket.addEventListener("open", () => {
    if (!isClosed) events.onOpen();
  });
  socket.addEventListener("message", ({ data }: MessageEvent) => {
    if (isClosed) return;
    events.onReceive();
    const frame = parseFrame(String(data), events);
    if (frame !== null) events.onFrame(frame);
  });
  socket.addEventListener("close", ({ code }) => end(code));
  // The event `close` always follows. Browsers hide the cause, Node has it.
  socket.addEventListener("error", (event) => {
    const { error: cause } = event as Partial<ErrorEvent>;
    if (!isClosed && cause !== undefined) events.onError(lostChannelError(cause));
  });
  const send = (command: SocketCommand): void => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(command));
  };
  return {
    subscribe: (session_id, request_id, cursor) =>
      send({
        type: "subscribe",
        request_id,
        session_id,
        ...(cursor === null ? {} : { last_event_id: cursor }),
      }),
    unsubscribe: (session_id) => send({ type: "unsubscribe", session_id }),
    send,
    close() {
      isClosed = true;
      socket.close();
    },
  };
}

function withTicket(address: URL, ticket: string): URL {
  address.searchParams.set("ticket", ticket);
  return address;
}

/** Outside of pages there is no origin and no ticket. The WebSocket of Node accepts headers. */
function withHeaders(credentials: Credentials): string[] {
  return { headers: credentialHeaders(credentials) } as unknown as string[];
}
