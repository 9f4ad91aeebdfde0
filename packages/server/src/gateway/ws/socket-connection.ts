/**
 * `SocketConnection` is one WebSocket: it sends the frames of many sessions and receives commands. Its subscriptions
 * share its send queue. Does not encode frames of sessions: feeds do.
 * Invariant: each command is checked for scope and ownership when it is executed, before the rest of the command is
 * validated. Nothing is sent after a close frame. Clients that flood it, send garbage or don't read are disconnected. A
 * client that sends faster than `socketBytesPerSecond` is read more slowly. A process has many of these, so each must
 * stay small: no timer, and collections only when needed.
 */
import type { Socket } from "node:net";
import type { SocketCommand, SocketReply } from "@turnstream/protocol/schema";
import type { WebSocket } from "ws";
import { isSessionNumber, resolveSession, requireScope } from "../auth/access.ts";
import type { Caller } from "../caller.ts";
import type { StreamFormat } from "../encoding/stream-format.ts";
import { executeCommand } from "../execute-command.ts";
import type { Connection, ConnectionRegistry } from "../connection/connection-registry.ts";
import { toErrorResponse, RequestError } from "../errors.ts";
import type { GatewayContext } from "../context.ts";
import type { HttpContext } from "../http/handle-request.ts";
import type { SinkEvents } from "../connection/frame-sink.ts";
import { SendQueue } from "../connection/send-queue.ts";
import { LimitExceededError } from "../../session/limit-exceeded.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { CloseReason } from "./close-codes.ts";
import { CommandQueue } from "./command-queue.ts";
import {
  type CommandFrame,
  isUrgent,
  parseCommand,
  parseRequestId,
  readFrame,
  REQUIRED_SCOPES,
} from "./parse-command.ts";
import { type Allowance, MIN_FRAME_BYTES, type ReceiveLimits, refill, takeBytes } from "./receive-rate.ts";
import { checkLiveness } from "./liveness.ts";
import { SocketTransport } from "./socket-transport.ts";
import { type SocketHandle, SocketSubscriber } from "./socket-subscriber.ts";
import { encodeTextFrame } from "../encoding/ws-frame.ts";
import { runAs } from "../../util/work-owner.ts";
import { MAX_COMMAND_BYTES } from "../gateway-limits.ts";
import { defined } from "../../util/defined.ts";

/** Limits between two heartbeats. Beyond them the socket is closed, because no correct client exceeds them. */
const MAX_MALFORMED = 20;
const MAX_REJECTED = 100;
const RETRY_AFTER_SECONDS = 1;

export class SocketConnection implements Connection, SinkEvents, SocketHandle {
  readonly caller: Caller;
  readonly queue: SendQueue;
  readonly #context: GatewayContext;
  readonly #connections: ConnectionRegistry;
  readonly #format: StreamFormat;
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  readonly #transport: SocketTransport;
  readonly #subscribers = new Map<string, SocketSubscriber>();
  #commands: CommandQueue | null = null;
  /** Session ids by session number. A number never changes its session. */
  #idsByNumber: Map<string, string> | null = null;
  #isClosed = false;
  #receivedAt = performance.now();
  #pingedAt: number | null = null;
  #bytesRead = 0;
  #malformed = 0;
  #rejected = 0;
  /** What the client may still send. Below zero, the connection is not read. */
  #allowance: Allowance = null;
  #meteredBytes: number;
  /** The newest unanswered ping, while the client does not read. */
  #pendingPing: Buffer | null = null;

  constructor(
    { context, connections }: Pick<HttpContext, "context" | "connections">,
    caller: Caller,
    format: StreamFormat,
    socket: WebSocket,
    stream: Socket,
  ) {
    this.caller = caller;
    this.#context = context;
    this.#connections = connections;
    this.#format = format;
    this.#socket = socket;
    this.#stream = stream;
    this.#meteredBytes = stream.bytesRead;
    this.#transport = new SocketTransport(socket, stream);
    this.queue = new SendQueue(this.#transport, this);
    socket.on("message", (data, isBinary) => this.#onMessage(data as Buffer, isBinary));
    socket.on("close", () => this.onClose());
    // A `close` event follows. Without a listener, the error would terminate the process.
    socket.on("error", ignore);
    socket.on("ping", (data) => {
      this.#meter(performance.now(), MIN_FRAME_BYTES);
      this.#pong(data);
    });
    stream.on("drain", () => {
      if (this.#pendingPing !== null) this.#pong(this.#pendingPing);
      this.queue.transportDrained();
    });
  }

  get bufferedBytes(): number {
    return this.queue.bufferedBytes;
  }

  onFlush(): void {
    for (const { subscription } of this.#subscribers.values()) subscription?.onFlush();
  }

  /** The connection's own frames are never dropped. Its subscribers are notified individually. */
  onDrain(): void {}

  onClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connections.delete(this);
    this.queue.markClosed();
    for (const { subscription, release } of this.#subscribers.values()) {
      subscription?.onClose();
      release();
    }
    this.#subscribers.clear();
  }

  onHeartbeat(now: number): void {
    this.#malformed = 0;
    this.#rejected = 0;
    if (this.#commands?.isIdle === true) this.#commands = null;
    const { limits } = this.#context;
    if (this.queue.isStalled(now, limits.stallTimeoutMs)) return this.destroy();
    this.#meter(now, 0);
    // A paused connection can't receive a pong.
    if (this.#stream.bytesRead !== this.#bytesRead || this.#socket.isPaused) {
      this.#bytesRead = this.#stream.bytesRead;
      this.#receivedAt = now;
      this.#pingedAt = null;
    }
    const { heartbeatMs } = this.#connections;
    const liveness = checkLiveness({ receivedAt: this.#receivedAt, pingedAt: this.#pingedAt }, now, {
      ...limits,
      heartbeatMs,
    });
    if (liveness === "dead") {
      // Send a close frame in case the connection is only slow. Don't wait for the answer, because a lost connection
      // sends none.
      this.#transport.close("noPong");
      this.destroy();
    } else if (liveness === "ping") {
      this.#pingedAt = now;
      this.#socket.ping();
    }
  }

  /** Stops receiving and sending. The client has some time to answer the close frame. */
  close(reason: CloseReason): void {
    if (this.#isClosed) return;
    this.#transport.close(reason);
    this.queue.markClosed();
  }

  destroy(): void {
    this.#transport.destroy();
    this.onClose();
  }

  reply(reply: SocketReply): void {
    this.queue.sendReliable(encodeTextFrame(JSON.stringify(reply)));
  }

  remove(subscriber: SocketSubscriber): void {
    if (this.#subscribers.get(subscriber.session) === subscriber)
      this.#subscribers.delete(subscriber.session);
    subscriber.release();
  }

  /** Answers only the newest ping. A client that sends pings without reading then occupies one buffer, not many. */
  #pong(data: Buffer): void {
    const isFull = this.#stream.writableNeedDrain;
    this.#pendingPing = isFull ? Buffer.from(data) : null;
    if (!isFull) this.#socket.pong(data);
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (isBinary) return this.close("binary");
    // A compressed command counts with its whole length.
    this.#meter(performance.now(), Math.max(MIN_FRAME_BYTES, data.byteLength));
    // Reading stops at zero. Only compressed frames that had arrived before can exceed it by this much.
    if (this.#allowance !== null && this.#allowance.bytes < -this.#receiveLimits.burstBytes)
      return this.close("flood");
    let frame: CommandFrame;
    try {
      frame = readFrame(data);
    } catch (error) {
      return this.#refuse(error, parseRequestId(data));
    }
    const { maxBodyBytes } = this.#context.limits;
    if (frame.type !== "send" && data.byteLength > MAX_COMMAND_BYTES) {
      const problem = `A command other than \`send\` must have at most ${MAX_COMMAND_BYTES} bytes.`;
      return this.#refuse(new RequestError("TOO_LARGE", problem), frame.requestId);
    }
    this.#commands ??= new CommandQueue(maxBodyBytes);
    const isAdded = runAs(this.caller, () =>
      this.#commands?.add(this.#resolveSessionId(frame), data.byteLength, () => this.#execute(frame)),
    );
    if (isAdded === true || this.#closesFlood()) return;
    const { reply } = toErrorResponse(
      new RequestError("RATE_LIMITED", "Too many concurrent commands. Wait for replies."),
    );
    const retry = { retry_after_seconds: RETRY_AFTER_SECONDS };
    this.reply({ type: "error", ...requestField(frame.requestId), ...reply, ...retry });
  }

  /** Counts a rejected command. @returns true if it has closed the connection, because there were too many */
  #closesFlood(): boolean {
    this.#rejected += 1;
    if (this.#rejected <= MAX_REJECTED) return false;
    this.close("flood");
    return true;
  }

  /** Refuses an invalid command. */
  #refuse(error: unknown, requestId: string | undefined): void {
    this.#malformed += 1;
    if (this.#malformed > MAX_MALFORMED) this.close("malformed");
    else this.#replyError(error, requestId);
  }

  /**
   * Counts what was received, and pauses reading while the client has sent too much. A heartbeat resumes it.
   * @param leastBytes what a frame counts at least
   */
  #meter(now: number, leastBytes: number): void {
    const limits = this.#receiveLimits;
    const bytes = Math.max(this.#stream.bytesRead - this.#meteredBytes, leastBytes);
    this.#meteredBytes = this.#stream.bytesRead;
    this.#allowance =
      bytes === 0 ? refill(this.#allowance, now, limits) : takeBytes(this.#allowance, bytes, now, limits);
    const isOverdrawn = this.#allowance !== null && this.#allowance.bytes < 0;
    if (isOverdrawn && !this.#socket.isPaused) this.#socket.pause();
    else if (!isOverdrawn && this.#socket.isPaused) this.#socket.resume();
  }

  get #receiveLimits(): ReceiveLimits {
    const { maxBodyBytes, socketBytesPerSecond: bytesPerSecond } = this.#context.limits;
    return { bytesPerSecond, burstBytes: maxBodyBytes + bytesPerSecond };
  }

  /** Commands of one session run in order, whether they use its number or its id. A ping belongs to no session. */
  #resolveSessionId({ session: name }: CommandFrame): string | (() => Promise<string>) | null {
    if (name === null || !isSessionNumber(name)) return name;
    return (
      this.#idsByNumber?.get(name) ??
      (async () => {
        try {
          const { session } = await resolveSession(this.#context, this.caller, name);
          this.#idsByNumber ??= new Map();
          this.#idsByNumber.set(name, session);
          return session;
        } catch {
          // Executing the command reports the error.
          return name;
        }
      })
    );
  }

  async #execute(frame: CommandFrame): Promise<void> {
    const context = this.#context;
    try {
      requireScope(this.caller, REQUIRED_SCOPES[frame.type]);
      if (frame.session === null) {
        if (this.#parse(frame) !== null) this.reply({ type: "ack", ...requestField(frame.requestId) });
      } else if (frame.type === "subscribe") await this.#subscribe(frame, frame.session);
      else {
        await context.limiter.countRequest(this.caller, { isUrgent: isUrgent(frame.type) });
        const ref = await resolveSession(context, this.caller, frame.session);
        const command = this.#parse(frame);
        if (command === null || command.type === "ping" || command.type === "subscribe") return;
        if (command.type === "unsubscribe") this.#unsubscribe(ref.session);
        const fields =
          command.type === "unsubscribe" ? {} : await executeCommand(context, this.caller, ref, command);
        this.reply({ type: "ack", ...requestField(frame.requestId), ...fields });
      }
    } catch (error) {
      this.#replyError(error, frame.requestId);
    }
  }

  /** Returns null for an invalid command, which it has refused. */
  #parse({ value, requestId }: CommandFrame): SocketCommand | null {
    try {
      return parseCommand(value);
    } catch (error) {
      this.#refuse(error, requestId);
      return null;
    }
  }

  async #subscribe(frame: CommandFrame, name: string): Promise<void> {
    const { limiter } = this.#context;
    const id = this.#idsByNumber?.get(name) ?? name;
    // A second subscribe replaces the first one and takes over its place in the count.
    const earlier = this.#subscribers.get(id);
    const opens = earlier === undefined ? "subscriptions" : null;
    const counted = await limiter.countRequest(this.caller, { opens });
    const release = earlier?.release ?? counted;
    try {
      const ref = await resolveSession(this.#context, this.caller, name);
      const command = this.#parse(frame);
      if (command?.type === "subscribe" && !this.#isClosed) this.#startSubscription(ref, command, release);
      else if (earlier === undefined || this.#isClosed) release();
    } catch (error) {
      if (earlier === undefined) release();
      throw error;
    }
  }

  #startSubscription(
    ref: SessionRef,
    command: Extract<SocketCommand, { readonly type: "subscribe" }>,
    release: () => void,
  ): void {
    const { limits, feeds } = this.#context;
    // A second subscribe replaces the first one, which ends without a reply.
    const earlier = this.#subscribers.get(ref.session);
    earlier?.subscription?.onClose();
    if (earlier?.release !== release) earlier?.release();
    this.#subscribers.delete(ref.session);
    if (this.#subscribers.size >= limits.maxSubscriptionsPerSocket)
      throw new RequestError(
        "RATE_LIMITED",
        `A socket can subscribe to at most ${limits.maxSubscriptionsPerSocket} sessions. Unsubscribe from one first.`,
      );
    const { session } = ref;
    const subscriber = new SocketSubscriber(this, { session, release }, command.request_id);
    const options = { format: this.#format, after: command.last_event_id ?? null };
    this.#subscribers.set(ref.session, subscriber);
    subscriber.subscription = feeds.subscribe(ref, options, subscriber);
  }

  #unsubscribe(session: string): void {
    const subscriber = this.#subscribers.get(session);
    subscriber?.subscription?.onClose();
    subscriber?.release();
    this.#subscribers.delete(session);
  }

  #replyError(error: unknown, requestId: string | undefined): void {
    if (error instanceof LimitExceededError && this.#closesFlood()) return;
    const { reply, isInternal } = toErrorResponse(error);
    if (isInternal) this.#context.onError(error, { during: "a command" });
    this.reply({ type: "error", ...requestField(requestId), ...reply });
  }
}

function ignore(): void {}

function requestField(request_id: string | undefined): { readonly request_id?: string } {
  return defined({ request_id });
}
