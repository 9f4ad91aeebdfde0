/** A WebSocket as a wire. Opened once; who wants another one asks for another one. */
import type { SocketCommand } from "@turnstream/protocol/schema";
import { headersOf } from "../auth/auth.ts";
import type { Credentials } from "../auth/auth.ts";
import type { ClientEnv } from "../env.ts";
import { frameIn, type Wire, type WireEvents } from "./channel.ts";

export interface SocketDoor {
  /** With `/api/v1`. */
  readonly base: string;
  readonly ticket: string;
  readonly credentials: Credentials;
  readonly dialect: string;
}

export function openSocket(
  { base, ticket, credentials, dialect }: SocketDoor,
  env: Pick<ClientEnv, "WebSocket" | "outside">,
  events: WireEvents,
): Wire {
  // In a page the server may be named by a path alone.
  const address = new URL(`${base}/socket`, typeof location === "undefined" ? undefined : location.href);
  address.protocol = address.protocol.replace("http", "ws");
  address.searchParams.set("dialect", dialect);
  const socket = env.outside.isPage
    ? new env.WebSocket(withTicket(address, ticket))
    : new env.WebSocket(address, withHeaders(credentials));
  let isOver = false;
  const end = (code: number): void => {
    if (isOver) return;
    isOver = true;
    events.closed(code);
  };
  socket.addEventListener("open", () => {
    if (!isOver) events.opened();
  });
  socket.addEventListener("message", ({ data }: MessageEvent) => {
    if (isOver) return;
    events.heard();
    const frame = typeof data === "string" ? frameIn(data) : null;
    if (frame !== null) events.frame(frame);
  });
  socket.addEventListener("close", ({ code }) => end(code));
  // It is followed by `close`.
  socket.addEventListener("error", () => {});
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
      isOver = true;
      socket.close();
    },
  };
}

function withTicket(address: URL, ticket: string): URL {
  address.searchParams.set("ticket", ticket);
  return address;
}

/** Outside of pages there is no origin, and so no ticket; Node's own WebSocket takes headers. */
function withHeaders(credentials: Credentials): string[] {
  return { headers: headersOf(credentials) } as unknown as string[];
}
