/**
 * One WebSocket: many sessions out, commands in. It owns the outlet that its subscriptions share, and tells them what becomes
 * of it. Small, for there are many: no timer of its own, and no list until there is something to list. Never makes frames of
 * sessions: they come ready-made from feeds.
 */
import type { Socket } from "node:net";
import type { SocketCommand, SocketReply } from "@turnstream/protocol/schema";
import type { WebSocket } from "ws";
import { isSessionNumber, resolveSession, requireScope } from "../auth/access.ts";
import type { Caller } from "../caller.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import { executeCommand } from "../execute-command.ts";
import type { Connection, ConnectionRegistry, DisconnectReason } from "../connection/connection-registry.ts";
import { toErrorResponse, RequestError } from "../errors.ts";
import type { GatewayContext } from "../context.ts";
import type { SinkEvents } from "../connection/frame-sink.ts";
import { SendQueue } from "../connection/send-queue.ts";
import type { CloseReason } from "./close-codes.ts";
import { CommandQueue } from "./command-queue.ts";
import { requiredScope, parseCommand, requestIdOf } from "./parse-command.ts";
import { checkLiveness } from "./liveness.ts";
import { SocketTransport } from "./socket-transport.ts";
import { type SocketHandle, SocketSubscriber } from "./socket-subscriber.ts";
import { textFrame } from "../encoding/ws-frame.ts";

export interface SocketContext {
  readonly parts: GatewayContext;
  readonly connections: ConnectionRegistry;
}

/** Between two beats. Beyond, the socket is closed: nobody means that. */
const MAX_MALFORMED = 20;
const MAX_REFUSED = 100;
const RETRY_AFTER_SECONDS = 1;

export class SocketConnection implements Connection, SinkEvents, SocketHandle {
  readonly caller: Caller;
  readonly outlet: SendQueue;
  readonly #room: SocketContext;
  readonly #choice: StreamFormat;
  readonly #socket: WebSocket;
  readonly #under: Socket;
  readonly #transport: SocketTransport;
  readonly #viewers = new Map<string, SocketSubscriber>();
  #commands: CommandQueue | null = null;
  /** Ids of sessions that were named by number: a number is never another's. */
  #numbers: Map<string, string> | null = null;
  #isClosed = false;
  #heardAt = performance.now();
  #askedAt: number | null = null;
  #bytesRead = 0;
  #malformed = 0;
  #refused = 0;
  /** The newest ping, while the other side doesn't read. */
  #pinged: Buffer | null = null;

  constructor(room: SocketContext, caller: Caller, choice: StreamFormat, socket: WebSocket, under: Socket) {
    this.caller = caller;
    this.#room = room;
    this.#choice = choice;
    this.#socket = socket;
    this.#under = under;
    this.#transport = new SocketTransport(socket, under);
    this.outlet = new SendQueue(this.#transport, this, room.parts.limits.sendQueueBytes);
    socket.on("message", (data, isBinary) => this.#take(data as Buffer, isBinary));
    socket.on("close", () => this.onClose());
    // It is followed by `close`; without a listener it would end the process.
    socket.on("error", ignore);
    socket.on("ping", (data) => this.#pong(data));
    under.on("drain", () => {
      if (this.#pinged !== null) this.#pong(this.#pinged);
      this.outlet.transportDrained();
    });
  }

  get bufferedBytes(): number {
    return this.outlet.bufferedBytes;
  }

  onFlush(): void {
    for (const { subscription } of this.#viewers.values()) subscription?.onFlush();
  }

  /** Nothing of its own is ever dropped: each of its viewers hears it for itself. */
  onDrain(): void {}

  onClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#room.connections.delete(this);
    this.outlet.markClosed();
    for (const { subscription } of this.#viewers.values()) subscription?.onClose();
    this.#viewers.clear();
  }

  onHeartbeat(now: number): void {
    this.#malformed = 0;
    this.#refused = 0;
    if (this.#commands?.isIdle === true) this.#commands = null;
    const { limits } = this.#room.parts;
    if (this.outlet.isStalled(now, limits.stallTimeoutMs)) {
      this.destroy();
      return;
    }
    if (this.#under.bytesRead !== this.#bytesRead) {
      this.#bytesRead = this.#under.bytesRead;
      this.#heardAt = now;
      this.#askedAt = null;
    }
    const { heartbeatMs } = this.#room.connections;
    const life = checkLiveness({ heardAt: this.#heardAt, askedAt: this.#askedAt }, now, {
      ...limits,
      heartbeatMs,
    });
    if (life === "dead") {
      // In case it is only slow; whoever is gone gives nothing back that could be waited for.
      this.#transport.close("noPong");
      this.destroy();
    } else if (life === "ask") {
      this.#askedAt = now;
      this.#socket.ping();
    }
  }

  close(why: DisconnectReason): void {
    this.#close(why);
  }

  destroy(): void {
    this.#transport.destroy();
    this.onClose();
  }

  reply(reply: SocketReply): void {
    this.outlet.sendReliable(textFrame(JSON.stringify(reply)));
  }

  forget(viewer: SocketSubscriber): void {
    if (this.#viewers.get(viewer.session) === viewer) this.#viewers.delete(viewer.session);
  }

  /** Nothing more is taken or sent; the other side has a while to answer. */
  #close(why: CloseReason): void {
    if (this.#isClosed) return;
    this.#transport.close(why);
    this.outlet.markClosed();
  }

  /** Only the newest ping needs an answer: whoever sends them without reading makes us hold one, not all. */
  #pong(data: Buffer): void {
    const isFull = this.#under.writableNeedDrain;
    this.#pinged = isFull ? Buffer.from(data) : null;
    if (!isFull) this.#socket.pong(data);
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (isBinary) {
      this.#close("binary");
      return;
    }
    const text = data.toString();
    let command: SocketCommand;
    try {
      command = parseCommand(text);
    } catch (error) {
      this.#malformed += 1;
      if (this.#malformed > MAX_MALFORMED) this.#close("malformed");
      else this.#refuse(error, requestIdOf(text));
      return;
    }
    this.#commands ??= new CommandQueue(this.#room.parts.limits.maxBodyBytes);
    if (this.#commands.add(this.#sessionOf(command), data.byteLength, () => this.#carryOut(command))) return;
    this.#refused += 1;
    if (this.#refused > MAX_REFUSED) this.#close("flood");
    else {
      const { reply } = toErrorResponse(
        new RequestError("RATE_LIMITED", "Too many commands at once. Wait for answers."),
      );
      const retry = { retry_after_seconds: RETRY_AFTER_SECONDS };
      this.reply({ type: "error", ...requestOf(command), ...reply, ...retry });
    }
  }

  /** Commands of one session are done in order, whether they name it by its number or by its id; a ping is of none. */
  #sessionOf(command: SocketCommand): string | (() => Promise<string>) | null {
    if (command.type === "ping") return null;
    const { session_id: name } = command;
    if (!isSessionNumber(name)) return name;
    return (
      this.#numbers?.get(name) ??
      (async () => {
        try {
          const { session } = await resolveSession(this.#room.parts, this.caller, name);
          this.#numbers ??= new Map();
          this.#numbers.set(name, session);
          return session;
        } catch {
          // Whoever carries it out will say why.
          return name;
        }
      })
    );
  }

  async #carryOut(command: SocketCommand): Promise<void> {
    const { parts } = this.#room;
    try {
      if (command.type === "ping") {
        this.reply({ type: "ack", ...requestOf(command) });
        return;
      }
      requireScope(this.caller, requiredScope(command.type));
      const ref = await resolveSession(parts, this.caller, command.session_id);
      if (command.type === "subscribe") this.#subscribe(ref, command);
      else {
        const fields =
          command.type === "unsubscribe"
            ? this.#unsubscribe(ref.session)
            : await executeCommand(parts, this.caller, ref, command);
        this.reply({ type: "ack", ...requestOf(command), ...fields });
      }
    } catch (error) {
      this.#refuse(error, command.request_id);
    }
  }

  #subscribe(
    ref: { readonly tenant: string; readonly session: string },
    command: Extract<SocketCommand, { readonly type: "subscribe" }>,
  ): void {
    if (this.#isClosed) return;
    const { limits, feeds } = this.#room.parts;
    // Once more is once more from there: the one before ends without a word.
    this.#unsubscribe(ref.session);
    if (this.#viewers.size >= limits.maxSubscriptionsPerSocket)
      throw new RequestError(
        "RATE_LIMITED",
        `A socket takes ${limits.maxSubscriptionsPerSocket} sessions. Unsubscribe from one first.`,
      );
    const viewer = new SocketSubscriber(this, ref.session, command.request_id);
    const wish = { format: this.#choice, after: command.last_event_id ?? null };
    this.#viewers.set(ref.session, viewer);
    viewer.subscription = feeds.subscribe(ref, wish, viewer);
  }

  #unsubscribe(session: string): Record<string, never> {
    this.#viewers.get(session)?.subscription?.onClose();
    this.#viewers.delete(session);
    return {};
  }

  #refuse(error: unknown, request: string | undefined): void {
    const { reply, isInternal } = toErrorResponse(error);
    if (isInternal) this.#room.parts.onError(error, "a command");
    this.reply({ type: "error", ...(request === undefined ? {} : { request_id: request }), ...reply });
  }
}

function ignore(): void {}

function requestOf({ request_id }: SocketCommand): { readonly request_id?: string } {
  return request_id === undefined ? {} : { request_id };
}
