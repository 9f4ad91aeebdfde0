/**
 * `ClientDialect` connects a client to a server that offers only another dialect, and `createDialectContext` returns
 * what such a dialect may use.
 * Invariant: a channel of `openChannel` delivers only native frames, so the transport does not depend on the dialect.
 */
import type { SocketCommand } from "@turnstream/protocol/schema";
import type { ClientEnv } from "../env.ts";
import { type ClientError, toClientError } from "../errors.ts";
import type { Api } from "../http/api.ts";
import { sendCommand } from "../http/commands.ts";
import { errorFromConnectResponse, errorFromResponse } from "../http/error-response.ts";
import { type Channel, type ChannelEvents, errorFrame, type Frame } from "./channel.ts";
import type { ChannelName } from "./connection-state.ts";
import type { TransportCommand } from "./transport.ts";

/** Pass one of `@turnstream/dialects` as `dialect` of `createClient`. */
export interface ClientDialect {
  /** The server's name for the dialect. */
  readonly name: string;
  /** The channels over which the server offers it, in the order to try. @default ["websocket", "sse"] */
  readonly channels?: readonly ChannelName[];
  /** Called once per client, so its decoders keep their state across reconnects. */
  connect(context: DialectContext): DialectConnection;
}

export interface DialectContext extends Pick<Api, "request" | "json"> {
  readonly env: Pick<ClientEnv, "now" | "setTimer">;
  /**
   * Reads the error of a response that is not ok. After a connect, only 401 is final unless the server itself says so,
   * because a proxy returns 404 or 403 while the server behind it is replaced.
   */
  readError(response: Response, to: "connect" | "command"): Promise<ClientError>;
  /** Sends a command over HTTP and returns its reply as a frame: `ack` or `error`. */
  sendCommand(command: SocketCommand): Promise<Frame>;
}

export interface DialectConnection {
  /** Opens a channel that delivers native frames. @param open opens the channel in the dialect of the server */
  openChannel(open: (events: ChannelEvents) => Channel, events: ChannelEvents): Channel;
}

export function createDialectContext({ api, env }: { api: Api; env: ClientEnv }): DialectContext {
  return {
    env,
    request: (path, init) => api.request(path, init),
    json: (path, init) => api.json(path, init),
    readError: (response, to) =>
      to === "connect" ? errorFromConnectResponse(response) : errorFromResponse(response),
    async sendCommand({ request_id = "", ...command }) {
      try {
        return { type: "ack", request_id, ...(await sendCommand(api, command as TransportCommand)) };
      } catch (error) {
        return errorFrame(request_id, toClientError(error, "UNSURE", String(error)));
      }
    },
  };
}
