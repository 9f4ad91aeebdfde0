/**
 * `openSse` opens event streams as a channel. Most pages use a socket, so the code loads with the first streams.
 * Invariant: nothing is subscribed before `onOpen`, which the loaded code calls.
 */
import type { Api } from "../http/api.ts";
import { type Channel, type ChannelEvents, CLOSE_LOST, lostChannelError } from "./channel.ts";

export function openSse(api: Api, events: ChannelEvents, dialect = "native"): Channel {
  let channel: Channel | null = null;
  let isClosed = false;
  const open = async (): Promise<void> => {
    const { openEventStreams } = await import("./sse-chunk.ts");
    if (!isClosed) channel = openEventStreams(api, events, dialect);
  };
  open().catch((error: unknown) => {
    if (isClosed) return;
    events.onError(lostChannelError(error));
    events.onClose(CLOSE_LOST);
  });
  return {
    subscribe: (session, request, cursor) => channel?.subscribe(session, request, cursor),
    unsubscribe: (session) => channel?.unsubscribe(session),
    send: null,
    close() {
      isClosed = true;
      channel?.close();
    },
  };
}
