/** What lets a client speak with a server that has only one of the other dialects. Types only. */
import type { Api } from "../http/api.ts";
import type { ClientEnv } from "../env.ts";
import type { Channel, ChannelEvents } from "../transport/channel.ts";

/** Pass one as `dialect` of `createClient`: `blocks`, `tasks` or `responses`, each of an entry of its own. */
export interface ClientDialect {
  readonly name: "blocks" | "tasks" | "responses";
  /** Called once for a client: what it has heard is kept over connects. */
  readonly connect: (parts: DialectContext) => DialectConnection;
}

export interface DialectContext {
  readonly api: Api;
  readonly env: ClientEnv;
}

export interface DialectConnection {
  /** A channel whose frames are native ones. @param open opens the channel as the server has it */
  openChannel(open: (events: ChannelEvents) => Channel, events: ChannelEvents): Channel;
}
