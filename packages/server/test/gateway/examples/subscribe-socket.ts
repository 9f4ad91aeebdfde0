/** An example of a page that watches a session over a socket, and comes back by itself. Printed in docs/gateway.md. */

export interface Watched {
  readonly session: string;
  /** A new address for every connection: a ticket is good once. */
  address(): Promise<string>;
  /** Frames of the dialect; `begun` says whether to forget what is shown. */
  begun(told: { resumed: boolean; reason: string }): void;
  frame(frame: { type: string; event_id?: string }): void;
}

/** @returns how to leave */
export function watch(watched: Watched): () => void {
  let lastEventId: string | undefined;
  let socket: WebSocket | undefined;
  let isOver = false;
  const connect = async (): Promise<void> => {
    socket = new WebSocket(await watched.address());
    socket.addEventListener("open", () => {
      const after = lastEventId === undefined ? {} : { last_event_id: lastEventId };
      socket?.send(JSON.stringify({ type: "subscribe", session_id: watched.session, ...after }));
    });
    socket.addEventListener("message", ({ data }) => {
      const frame = JSON.parse(String(data));
      lastEventId = frame.event_id ?? lastEventId;
      if (frame.type === "subscribed") watched.begun(frame);
      else watched.frame(frame);
    });
    // 4401: sign in again. Anything else: come back, not all at once.
    socket.addEventListener("close", ({ code }) => {
      if (!isOver && code !== 4401) setTimeout(() => void connect(), 500 + Math.random() * 2_500);
    });
  };
  void connect();
  return () => {
    isOver = true;
    socket?.close();
  };
}
