/**
 * `ClientDialect` connects a client to a server that offers only one of the other dialects. Types only.
 * Invariant: `connect` is called once per client, and its decoders keep their state across reconnects. A channel of
 * `openChannel` delivers only native frames, so the transport does not depend on the dialect.
 */
import type { Api } from "../http/api.ts";
import type { ClientEnv } from "../env.ts";
import type { Channel, ChannelEvents } from "../transport/channel.ts";

/** Pass one as `dialect` of `createClient`: `blocks`, `tasks` or `responses`, each from its own entry point. */
export interface ClientDialect {
  readonly name: "blocks" | "tasks" | "responses";
  /** Called once per client. Its decoders keep their state across reconnects. */
  readonly connect: (parts: DialectContext) => DialectConnection;
}

export interface DialectContext {
  readonly api: Api;
  readonly env: ClientEnv;
}

export interface DialectConnection {
  /** Opens a channel that delivers native frames. @param open opens the channel in the dialect of the server */
  openChannel(open: (events: ChannelEvents) => Channel, events: ChannelEvents): Channel;
}
