/** What lets a client speak with a server that has only one of the other dialects. Types only. */
import type { Api } from "../http/api.ts";
import type { ClientEnv } from "../env.ts";
import type { Wire, WireEvents } from "../transport/channel.ts";

/** Pass one as `dialect` of `createClient`: `blocks`, `tasks` or `responses`, each of an entry of its own. */
export interface ClientDialect {
  readonly name: "blocks" | "tasks" | "responses";
  /** Called once for a client: what it has heard is kept over connects. */
  readonly begin: (parts: DialectParts) => DialectWires;
}

export interface DialectParts {
  readonly api: Api;
  readonly env: ClientEnv;
}

export interface DialectWires {
  /** A wire whose frames are those of a native one. @param open the wire as the server has it */
  open(open: (events: WireEvents) => Wire, events: WireEvents): Wire;
}
