/**
 * The port between a session's store and its connection: this tab's own one (network-transport.ts), or the one of another
 * tab of the same browser (tabs/). The store doesn't know which.
 */
import type { Cursor, SessionEvent, Snapshot } from "@turnstream/protocol";
import type { SocketCommand, SocketReply } from "@turnstream/protocol/schema";
import { ClientError } from "../errors.ts";
import { RESPONSE_TIMEOUT_MS } from "../http/api.ts";
import type { ClientEnv } from "../env.ts";
import type { ConnectionView } from "./status.ts";

type Reply<Type extends SocketReply["type"]> = Extract<SocketReply, { readonly type: Type }>;

/** What a transport reports of one session, in this order: connection, subscribed, maybe a snapshot, then events. */
export interface SubscriptionHandler {
  onConnection(view: ConnectionView): void;
  /** Each (re)connect: whether what is there goes on, or is replaced by what follows. */
  onSubscribed(start: Pick<Reply<"subscribed">, "resumed" | "reason">): void;
  onSnapshot(snapshot: Snapshot, cursor: Cursor): void;
  /** Dense and in order, unless something is broken: the receiver checks. */
  onEvents(events: readonly SessionEvent[]): void;
  /** The server's clock minus this machine's, where it became known. */
  onClockSkew(skewMs: number): void;
}

export interface Subscription {
  /** Subscribes again, after `cursor()`; without one, from a snapshot. For a store that has seen a gap. */
  resync(): void;
  unsubscribe(): void;
}

/** A command of a socket without what the transport itself adds. */
type WithoutRequest<Command> = Command extends unknown ? Omit<Command, "request_id"> : never;
export type TransportCommand = WithoutRequest<
  Exclude<SocketCommand, { readonly type: "subscribe" | "unsubscribe" | "ping" }>
>;

export interface Transport {
  /** @param cursor where to go on from, read again for each connect; null for a store without state */
  subscribe(session: string, cursor: () => Cursor | null, handler: SubscriptionHandler): Subscription;
  /** Rejects with a ClientError: OFFLINE when it was certainly not sent, UNSURE when that is unknown. */
  command(command: TransportCommand): Promise<Omit<Reply<"ack">, "type" | "request_id">>;
  /** A request of the HTTP interface, below /api/v1, with the credentials of the moment. */
  request(path: string, init?: RequestInit): Promise<Response>;
  close(): void;
}

/**
 * Rejects a command with UNSURE after a minute without an answer, whatever carries it. A later answer changes nothing
 * here: the log shows what was done.
 */
export function withCommandTimeout(transport: Transport, env: Pick<ClientEnv, "setTimer">): Transport {
  return {
    subscribe: (session, cursor, handler) => transport.subscribe(session, cursor, handler),
    request: (path, init) => transport.request(path, init),
    close: () => transport.close(),
    command: (command: TransportCommand) =>
      new Promise((resolve, reject) => {
        const cancel = env.setTimer(() => {
          const message = "The server hasn't answered for a minute. Look whether it was done.";
          reject(new ClientError("UNSURE", message, { canRetry: true }));
        }, RESPONSE_TIMEOUT_MS);
        transport.command(command).then(resolve, reject).finally(cancel);
      }),
  };
}
