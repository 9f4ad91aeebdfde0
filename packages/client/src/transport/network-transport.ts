/**
 * `createNetworkTransport` creates the transport of a client: one channel for all sessions, reopened when it is lost.
 * Invariant: the state machines decide when to connect and subscribe. Commands in flight on a lost channel reject with
 * UNSURE. Large commands, and all commands without an open channel that can send them, use HTTP.
 */
import type { Cursor, SessionEvent, Snapshot } from "@turnstream/protocol";
import type { SocketCommand } from "@turnstream/protocol/schema";
import { deriveConnection, INITIAL_CONNECTION } from "./status.ts";
import { type ClientDialect, createDialectContext, type DialectConnection } from "./client-dialect.ts";
import { toClientError, ClientError } from "../errors.ts";
import { type Ticket, requestTicket, type Api } from "../http/api.ts";
import { errorFromBody } from "../http/error-response.ts";
import type { Transport, TransportCommand, SubscriptionHandler, Subscription } from "./transport.ts";
import type { ClientEnv } from "../env.ts";
import { openWebSocket } from "./websocket.ts";
import { openSse } from "./sse.ts";
import { CLOSE_LOST, type Frame, lostChannelError, type Channel, type ChannelEvents } from "./channel.ts";
import { sendCommand } from "../http/commands.ts";
import { stepConnection } from "./connection-machine.ts";
import {
  type ChannelName,
  type ConnectionEffect,
  type ConnectionInput,
  INITIAL_STATE,
  isUp,
} from "./connection-state.ts";
import { PendingCommands } from "./pending-commands.ts";
import { type SubscribedSession, SubscribedSessions } from "./subscribed-sessions.ts";
import {
  formatRequestId,
  INITIAL_SUBSCRIPTION,
  parseRequestId,
  stepSubscription,
  type SubscriptionInput,
} from "./subscription-machine.ts";

export interface NetworkTransportOptions {
  readonly api: Api;
  readonly env: ClientEnv;
  readonly channels: readonly ChannelName[];
  /** The dialect of a server without the native one. */
  readonly dialect?: ClientDialect | undefined;
  /** Returns whether a hidden page may close the connection now. */
  readonly mayClose: (options: { readonly followsTurns: boolean }) => boolean;
}

type SubscribedFrame = Parameters<SubscriptionHandler["onSubscribed"]>[0] & { readonly head?: string };

/** Larger commands are sent over HTTP, where a rejection does not close the connection. */
const MAX_FRAME_CHARS = 256 * 1024;
/** Smaller differences are network delay. */
const MIN_SKEW_CHANGE_MS = 250;

export function createNetworkTransport(options: NetworkTransportOptions): Transport {
  return new NetworkTransport(options);
}

class NetworkTransport implements Transport {
  readonly #options: NetworkTransportOptions;
  readonly #subscriptions = new SubscribedSessions();
  readonly #commands = new PendingCommands();
  readonly #stopListening: () => void;
  #state = INITIAL_STATE;
  readonly #adapter: DialectConnection | null;
  #channel: Channel | null = null;
  #authorizing: AbortController | null = null;
  #ticket: Ticket | null = null;
  #receivedAt = 0;
  #skewMs: number | null = null;
  #timerAt: number | null = null;
  #cancelTimer = (): void => {};
  #requests = 0;
  /** False if the open or last channel occupies one of the few connections that a browser opens per host. */
  #followsTurns = true;
  /** The last error of the channel, which explains why it closes. */
  #channelError: ClientError | null = null;

  constructor(options: NetworkTransportOptions) {
    this.#options = options;
    const { page } = options.env;
    this.#adapter = options.dialect?.connect(createDialectContext(options)) ?? null;
    this.#stopListening = page.onChange(() => this.#onPageChange());
    this.#onPageChange();
  }

  subscribe(session: string, cursor: () => Cursor | null, handler: SubscriptionHandler): Subscription {
    if (this.#subscriptions.has(session)) throw new Error(`session ${session} is already subscribed`);
    const entry: SubscribedSession = {
      session,
      key: `s${++this.#requests}`,
      cursor,
      handler,
      state: INITIAL_SUBSCRIPTION,
      view: INITIAL_CONNECTION,
      cancelTimer: () => {},
    };
    this.#subscriptions.add(entry);
    if (this.#skewMs !== null) handler.onClockSkew(this.#skewMs);
    if (this.#channel !== null && this.#isUp) this.#stepSubscription(entry, { type: "connected" });
    else this.#step({ type: "start" });
    this.#report(entry);
    return {
      resync: () => {
        if (!this.#subscriptions.isCurrent(entry)) return;
        this.#step({ type: "reconnect" });
        this.#stepSubscription(entry, { type: "resync" });
      },
      unsubscribe: () => this.#unsubscribe(entry),
    };
  }

  command(command: TransportCommand): ReturnType<Transport["command"]> {
    const { api, env } = this.#options;
    if (!env.page.isOnline())
      return Promise.reject(
        new ClientError("OFFLINE", "There is no network. The command was not sent.", { canRetry: true }),
      );
    const send = this.#isUp ? (this.#channel?.send ?? null) : null;
    const request_id = `c${++this.#requests}`;
    const frame: SocketCommand = { ...command, request_id };
    if (send === null || JSON.stringify(frame).length > MAX_FRAME_CHARS) return sendCommand(api, command);
    return this.#commands.add(request_id, () => send(frame));
  }

  onActivity(): void {
    if (this.#state.hiddenSince !== null) this.#step({ type: "activity" });
  }

  close(): void {
    this.#stopListening();
    for (const entry of this.#subscriptions.list()) entry.cancelTimer();
    this.#subscriptions.clear();
    this.#step({ type: "stop" });
  }

  get #isUp(): boolean {
    return isUp(this.#state);
  }

  #unsubscribe(entry: SubscribedSession): void {
    const { session } = entry;
    if (!this.#subscriptions.isCurrent(entry)) return;
    entry.cancelTimer();
    this.#subscriptions.remove(entry);
    if (this.#isUp) this.#channel?.unsubscribe(session);
    if (this.#subscriptions.size === 0) this.#step({ type: "stop" });
  }

  // ---- the connection

  #onPageChange(): void {
    const { page } = this.#options.env;
    this.#step({
      type: "page",
      isOnline: page.isOnline(),
      isHidden: page.isHidden(),
      isFrozen: page.isFrozen(),
      receivedAt: this.#lastReceivedAt(),
    });
  }

  #lastReceivedAt(): number {
    if (this.#channel?.isIdle?.() === true) this.#receivedAt = this.#options.env.now();
    return this.#receivedAt;
  }

  #step(input: ConnectionInput): void {
    const { env, channels: all } = this.#options;
    const channels = all.filter((name) => name !== "websocket" || this.#ticket?.hasSockets !== false);
    const before = this.#state;
    const isOtherDialect = this.#adapter !== null;
    const followsTurns = this.#followsTurns;
    const mayClose = env.page.isHidden() && this.#options.mayClose({ followsTurns });
    const context = { now: env.now(), random: env.random(), channels, isOtherDialect, mayClose };
    const { state, effects } = stepConnection(before, input, context);
    this.#state = state;
    if (state.error !== null && state.error !== before.error) this.#options.api.report.error(state.error);
    if (isUp(before) && (!this.#isUp || state.attempt !== before.attempt)) this.#onDisconnect();
    for (const effect of effects) this.#run(effect);
    this.#setTimer();
    // A frame or an effect may already have changed the state.
    if (this.#state === state && before.phase !== state.phase) this.#reportAll();
  }

  #run(effect: ConnectionEffect): void {
    switch (effect.type) {
      case "authorize":
        void this.#authorize(effect.attempt, effect.renew);
        break;
      case "open":
        this.#open(effect.attempt, effect.channel);
        break;
      case "probe":
        if (this.#channel?.send) this.#channel.send({ type: "ping", request_id: `p${++this.#requests}` });
        break;
      case "drop":
        this.#authorizing?.abort();
        this.#authorizing = null;
        this.#channel?.close();
        this.#channel = null;
    }
  }

  async #authorize(attempt: number, renew: boolean): Promise<void> {
    const { api, env } = this.#options;
    const abort = new AbortController();
    this.#authorizing = abort;
    try {
      const ticket = await requestTicket(api, env, renew, abort.signal);
      if (abort.signal.aborted) return;
      this.#ticket = ticket;
      this.#setClockSkew(ticket.skewMs);
      this.#step({ type: "authorized", attempt });
    } catch (error) {
      if (abort.signal.aborted) return;
      const message = "An unexpected error occurred while connecting.";
      const failure = toClientError(error, "SERVER_ERROR", message, { canRetry: true });
      this.#step({ type: "rejected", attempt, error: failure });
    }
  }

  #open(attempt: number, name: ChannelName): void {
    const { api, env } = this.#options;
    const events: ChannelEvents = {
      onOpen: () => {
        this.#receivedAt = env.now();
        this.#step({ type: "opened", attempt });
        if (this.#state.attempt !== attempt || !this.#isUp) return;
        for (const entry of this.#subscriptions.list()) this.#stepSubscription(entry, { type: "connected" });
      },
      onReceive: () => {
        this.#receivedAt = env.now();
        if (this.#state.phase === "probing" || !this.#state.hasReceived)
          this.#step({ type: "received", attempt });
      },
      onFrame: (frame) => this.#onFrame(frame),
      onError: (error) => (this.#channelError = api.report.error(error)),
      onClose: (code, retryAfterMs) => {
        this.#channel = null;
        const retry = retryAfterMs === undefined ? {} : { retryAfterMs };
        const error = this.#channelError;
        this.#step({ type: "closed", attempt, code, ...retry, ...(error === null ? {} : { error }) });
      },
    };
    this.#channelError = null;
    this.#followsTurns = name !== "sse" || env.page.isMultiplexed(api.base);
    const ticket = this.#ticket;
    if (ticket === null) return;
    try {
      const dialect = this.#options.dialect?.name ?? "native";
      const openChannel = (on: ChannelEvents): Channel =>
        name === "sse"
          ? openSse(api, on, dialect)
          : openWebSocket({ base: api.base, dialect, ...ticket }, env, on);
      this.#channel =
        this.#adapter === null ? openChannel(events) : this.#adapter.openChannel(openChannel, events);
    } catch (error) {
      // The policy of a page can forbid sockets, and some environments have none.
      events.onError(lostChannelError(error));
      events.onClose(CLOSE_LOST);
    }
  }

  /** The outcome of commands in flight is unknown. Sessions subscribe again on the next channel. */
  #onDisconnect(): void {
    this.#commands.rejectAll();
    for (const entry of this.#subscriptions.list()) this.#stepSubscription(entry, { type: "disconnected" });
  }

  #setTimer(): void {
    const { timerAt } = this.#state;
    if (timerAt === this.#timerAt) return;
    const { env } = this.#options;
    this.#cancelTimer();
    this.#timerAt = timerAt;
    if (timerAt === null) return;
    const fire = (): void => {
      this.#timerAt = null;
      this.#step({ type: "timer", receivedAt: this.#lastReceivedAt() });
    };
    this.#cancelTimer = env.setTimer(fire, Math.max(0, timerAt - env.now()));
  }

  #setClockSkew(skewMs: number | null): void {
    if (skewMs === null) return;
    if (this.#skewMs !== null && Math.abs(skewMs - this.#skewMs) < MIN_SKEW_CHANGE_MS) return;
    this.#skewMs = skewMs;
    for (const { handler } of this.#subscriptions.list()) handler.onClockSkew(skewMs);
  }

  // ---- subscriptions

  #stepSubscription(entry: SubscribedSession, input: SubscriptionInput): boolean {
    const { env } = this.#options;
    const step = stepSubscription(entry.state, input, { now: env.now(), random: env.random() });
    const before = entry.state;
    entry.state = step.state;
    if (step.state === before) return step.pass;
    const { error } = step.state;
    if (error !== null && error !== before.error) this.#options.api.report.error(error);
    if (step.state.retryAt !== before.retryAt) this.#scheduleRetry(entry);
    if (step.subscribe)
      this.#channel?.subscribe(entry.session, formatRequestId(entry.key, step.state.request), entry.cursor());
    if (step.state.phase === "live" && before.phase !== "live")
      this.#step({ type: "live", attempt: this.#state.attempt });
    return step.pass;
  }

  #scheduleRetry(entry: SubscribedSession): void {
    const { env } = this.#options;
    entry.cancelTimer();
    const { retryAt } = entry.state;
    if (retryAt === null) return;
    entry.cancelTimer = env.setTimer(
      () => {
        this.#stepSubscription(entry, { type: "timer" });
        this.#report(entry);
      },
      Math.max(0, retryAt - env.now()),
    );
  }

  #reportAll(): void {
    for (const entry of this.#subscriptions.list()) this.#report(entry);
  }

  #report(entry: SubscribedSession): void {
    const view = deriveConnection(this.#state, entry.state, entry.view);
    if (view === entry.view) return;
    entry.view = view;
    this.#options.api.report.event?.({ type: "connection", sessionId: entry.session, connection: view });
    entry.handler.onConnection(view);
  }

  #onFrame(frame: Frame): void {
    const request = frame["request_id"];
    if (typeof request === "string" && this.#commands.settle(request, frame)) return;
    const session = frame["session_id"];
    if (frame.type === "error") return this.#onError(frame, request);
    const entry = this.#subscriptions.find(session, request);
    if (entry === undefined) return;
    switch (frame.type) {
      case "subscribed":
        return this.#onSubscribed(entry, frame, request);
      case "unsubscribed":
        this.#stepSubscription(entry, { type: "ended", reason: String(frame["reason"]) });
        return this.#report(entry);
      case "snapshot": {
        const cursor = String(frame["event_id"]);
        const pass = this.#stepSubscription(entry, { type: "position", cursor });
        if (pass) entry.handler.onSnapshot(frame["snapshot"] as Snapshot, cursor);
        return this.#report(entry);
      }
      case "resuming":
      case "no_worker":
        this.#stepSubscription(entry, { type: frame.type });
        return this.#report(entry);
      default: {
        const before = entry.state;
        // While the subscription is live and makes progress, events don't change its state.
        const pass =
          (before.phase === "live" && before.stalled === null) ||
          this.#stepSubscription(entry, { type: "position", cursor: String(frame["id"]) });
        if (pass) entry.handler.onEvents([frame as unknown as SessionEvent]);
        if (entry.state !== before) this.#report(entry);
      }
    }
  }

  #onSubscribed(entry: SubscribedSession, frame: Frame, request: unknown): void {
    const { resumed, reason, head } = frame as unknown as SubscribedFrame;
    const pass = this.#stepSubscription(entry, {
      type: "subscribed",
      request: typeof request === "string" ? parseRequestId(request).request : null,
      resumed,
      head: head ?? null,
      cursor: entry.cursor(),
    });
    // Reported before the view becomes live, so that the subscriber knows whether its state continues.
    if (pass) entry.handler.onSubscribed({ resumed, reason });
    this.#report(entry);
  }

  #onError(frame: Frame, request: unknown): void {
    const entry = this.#subscriptions.find(undefined, request);
    if (entry === undefined || typeof request !== "string") return;
    const { type: _, ...fields } = frame;
    const error = errorFromBody(fields, { requestId: request });
    this.#stepSubscription(entry, { type: "rejected", request: parseRequestId(request).request, error });
    this.#report(entry);
  }
}
