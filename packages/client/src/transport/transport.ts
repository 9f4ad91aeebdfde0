/**
 * Where the events of sessions come from and commands go: the connection of this tab, or the tab of the same browser that
 * has one. What stands above it, a session's store, doesn't know which. Types only.
 */
import type { Cursor, SessionEvent, Snapshot } from "@turnstream/protocol";
import type { SocketCommand, SocketReply } from "@turnstream/protocol/schema";
import { ClientError } from "../errors.ts";
import { ANSWER_MS } from "../http/api.ts";
import type { ClientEnv } from "../env.ts";
import type { ConnectionView } from "./status.ts";

type Reply<Type extends SocketReply["type"]> = Extract<SocketReply, { readonly type: Type }>;

/** What a link says of one session, in this order: connection, begun, maybe a snapshot, then events. */
export interface LinkHandler {
  connection(view: ConnectionView): void;
  /** Each (re)connect: whether what is there goes on, or is replaced by what follows. */
  begun(told: Pick<Reply<"subscribed">, "resumed" | "reason">): void;
  snapshot(snapshot: Snapshot, cursor: Cursor): void;
  /** Dense and in order after what was begun with, unless something is broken: who gets them checks. */
  events(events: readonly SessionEvent[]): void;
  /** The server's clock minus this machine's, where it became known. */
  clock(skewMs: number): void;
}

export interface Watch {
  /** Begins again, after `cursor()`; without one, from a snapshot. For who has seen a gap. */
  again(): void;
  stop(): void;
}

/** A command of a socket without what the link itself adds. */
type WithoutRequest<Command> = Command extends unknown ? Omit<Command, "request_id"> : never;
export type LinkCommand = WithoutRequest<
  Exclude<SocketCommand, { readonly type: "subscribe" | "unsubscribe" | "ping" }>
>;

export interface Link {
  /** @param cursor where to go on from, asked anew for each connect; null for who has nothing */
  watch(session: string, cursor: () => Cursor | null, handler: LinkHandler): Watch;
  /** Rejects with a ClientError: OFFLINE when it was certainly not sent, UNSURE when nobody knows. */
  command(command: LinkCommand): Promise<Omit<Reply<"ack">, "type" | "request_id">>;
  /** A request of the HTTP interface, below /api/v1, with the credentials of the moment. */
  request(path: string, init?: RequestInit): Promise<Response>;
  close(): void;
}

/**
 * A link whose commands are answered within a minute, whatever carries them: by then a person has waited long enough, and
 * is told that nobody knows. An answer that comes later changes nothing here: the log shows what was done.
 */
export function impatientLink(link: Link, env: Pick<ClientEnv, "setTimer">): Link {
  return {
    watch: (session, cursor, handler) => link.watch(session, cursor, handler),
    request: (path, init) => link.request(path, init),
    close: () => link.close(),
    command: (command: LinkCommand) =>
      new Promise((resolve, reject) => {
        const cancel = env.setTimer(() => {
          const words = "The server hasn't answered for a minute. Look whether it was done.";
          reject(new ClientError("UNSURE", words, { canRetry: true }));
        }, ANSWER_MS);
        link.command(command).then(resolve, reject).finally(cancel);
      }),
  };
}
