/** `watch` subscribes to a session over a WebSocket and reconnects. Printed in docs/gateway.md. */

export interface WatchOptions {
  readonly session: string;
  /** Returns a new URL for every connection, because a ticket is valid once. */
  address(): Promise<string>;
  /** If `resumed` is false, discard what is shown: the frames that follow replace it. */
  onSubscribed(info: { resumed: boolean; reason: string }): void;
  /** Receives every frame of the dialect. */
  frame(frame: { type: string; event_id?: string }): void;
}

/** @returns a function that unsubscribes */
export function watch(options: WatchOptions): () => void {
  let lastEventId: string | undefined;
  let socket: WebSocket | undefined;
  let isClosed = false;
  const connect = async (): Promise<void> => {
    socket = new WebSocket(await options.address());
    socket.addEventListener("open", () => {
      const after = lastEventId === undefined ? {} : { last_event_id: lastEventId };
      socket?.send(JSON.stringify({ type: "subscribe", session_id: options.session, ...after }));
    });
    socket.addEventListener("message", ({ data }) => {
      const frame = JSON.parse(String(data));
      lastEventId = frame.event_id ?? lastEventId;
      if (frame.type === "subscribed") options.onSubscribed(frame);
      else options.frame(frame);
    });
    // 4401: sign in again. Otherwise reconnect after a random delay, so that clients don't reconnect all at once.
    socket.addEventListener("close", ({ code }) => {
      if (!isClosed && code !== 4401) setTimeout(() => void connect(), 500 + Math.random() * 2_500);
    });
  };
  void connect();
  return () => {
    isClosed = true;
    socket?.close();
  };
}
