/**
 * `Transport` is the port between a session's store and the connection of its client (`network-transport.ts`).
 * `withCommandTimeout` limits its commands to a minute.
 * Invariant: a session gets its reports in this order: connection, subscribed, possibly a snapshot, events. A command
 * rejects with OFFLINE only if it was certainly not sent.
 */
import type { Cursor, SessionEvent, Snapshot } from "@turnstream/protocol";
import type { SocketCommand, SocketReply } from "@turnstream/protocol/schema";
import { ClientError } from "../errors.ts";
import { RESPONSE_TIMEOUT_MS } from "../http/api.ts";
import { NO_REPORTS } from "../report.ts";
import type { ClientEnv } from "../env.ts";
import type { ConnectionView } from "./status.ts";

type Reply<Type extends SocketReply["type"]> = Extract<SocketReply, { readonly type: Type }>;

/**
 * Receives the reports of a transport about one session, in this order: connection, subscribed, possibly a snapshot,
 * events.
 */
export interface SubscriptionHandler {
  onConnection(view: ConnectionView): void;
  /** Called at each (re)connect: whether the local state continues or is replaced by what follows. */
  onSubscribed(start: Pick<Reply<"subscribed">, "resumed" | "reason">): void;
  onSnapshot(snapshot: Snapshot, cursor: Cursor): void;
  /** Normally without gaps and in order, but the receiver must check. */
  onEvents(events: readonly SessionEvent[]): void;
  /** The server's clock minus this machine's, when it becomes known. */
  onClockSkew(skewMs: number): void;
}

export interface Subscription {
  /** Subscribes again from `cursor()`, or from a snapshot if it is null. For a store that detected a gap. */
  resync(): void;
  unsubscribe(): void;
}

/** A socket command without the fields that the transport adds. */
type WithoutRequest<Command> = Command extends unknown ? Omit<Command, "request_id"> : never;
export type TransportCommand = WithoutRequest<
  Exclude<SocketCommand, { readonly type: "subscribe" | "unsubscribe" | "ping" }>
>;

export interface Transport {
  /** @param cursor returns the cursor to resume from, read at each connect; null for a store without state */
  subscribe(session: string, cursor: () => Cursor | null, handler: SubscriptionHandler): Subscription;
  /** Rejects with a ClientError: OFFLINE if the command was certainly not sent, UNSURE if that is unknown. */
  command(command: TransportCommand): Promise<Omit<Reply<"ack">, "type" | "request_id">>;
  /** Call it after a change of what decides whether a hidden page may close its connection. */
  onActivity(): void;
  close(): void;
}

/**
 * Rejects a command with UNSURE after a minute without a reply, over any channel. A later reply is ignored, because the
 * log shows the outcome. Reports every command, and every failed one.
 */
export function withCommandTimeout(
  transport: Transport,
  env: Pick<ClientEnv, "setTimer">,
  report = NO_REPORTS,
): Transport {
  return {
    subscribe: (session, cursor, handler) => transport.subscribe(session, cursor, handler),
    onActivity: () => transport.onActivity(),
    close: () => transport.close(),
    command: (command: TransportCommand) =>
      new Promise((resolve, reject) => {
        report.event?.({ type: "command", sessionId: command.session_id, command: command.type });
        const cancel = env.setTimer(() => {
          const message = "The connection was lost before the reply. Check whether the command took effect.";
          reject(report.error(new ClientError("UNSURE", message, { canRetry: true })));
        }, RESPONSE_TIMEOUT_MS);
        transport
          .command(command)
          .then(resolve, (error: unknown) => reject(report.error(error)))
          .finally(cancel);
      }),
  };
}
