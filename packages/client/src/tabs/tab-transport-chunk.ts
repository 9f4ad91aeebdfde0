/**
 * `createTabTransport` creates a transport that the tabs of one browser share: one tab has the connection, and the
 * others subscribe and send commands through it.
 * Invariant: inputs of `election.ts` and `follower.ts` run one at a time, and all effects of an input run before the
 * next input. This file itself decides only when to tick, how often to replace a stalled leader, and when the tab
 * connects alone: without a channel name. Before its first use it requests no token, which may need a signed-in user.
 */
import type { Cursor } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";
import type {
  Transport,
  TransportCommand,
  SubscriptionHandler,
  Subscription,
} from "../transport/transport.ts";
import { createLeader, type Leader } from "./leader.ts";
import {
  isStalled,
  type FollowerEffect,
  type FollowerInput,
  createFollower,
  withPosition,
  stepFollower,
} from "./follower.ts";
import {
  type FromLeader,
  readTabMessage,
  type LeaderTerm,
  type PendingReply,
  TABS_VERSION,
  type ToLeader,
} from "./messages.ts";
import { createInterval, createSerialQueue, type Interval } from "./scheduling.ts";
import {
  createElection,
  type ElectionEffect,
  type ElectionInput,
  stepElection,
  TICK_MS,
} from "./election.ts";
import type {
  SharedTransport,
  SharedTransportOptions,
  TabChannel,
  TabLock,
  TabSubscriptionEntry,
} from "./types.ts";

/** How long messages of the previous leader can be delayed. */
const DRAIN_MS = 50;
/** How often a tab sends its presence, also while hidden. */
const PRESENCE_MS = 60_000;
const MIN_STEAL_INTERVAL_MS = 15_000;

export function createTabTransport(options: SharedTransportOptions): SharedTransport {
  return new TabTransport(options);
}

class TabTransport implements SharedTransport {
  readonly #options: SharedTransportOptions;
  readonly #tabId: string;
  readonly #subscriptions = new Map<number, TabSubscriptionEntry>();
  readonly #replies = new Map<string, PendingReply>();
  readonly #queue = createSerialQueue();
  readonly #stopListening: () => void;
  #election;
  #follower;
  #started: Promise<void> | null = null;
  #name: string | null = null;
  #alone: Transport | null = null;
  #channel: TabChannel | null = null;
  #lock: TabLock | null = null;
  #leader: Leader | null = null;
  /** The tab connects alone because `getChannelName()` failed, for example in a page that was opened offline. */
  #hasNoName = false;
  #isClosed = false;
  #stoleAt = -Infinity;
  #count = 0;
  readonly #ticks: Interval;
  readonly #presence: Interval;

  constructor(options: SharedTransportOptions) {
    this.#options = options;
    const { env, lifecycle } = options;
    this.#tabId = env.createId();
    this.#election = createElection(this.#tabId, lifecycle.isVisible(), env.now());
    this.#follower = createFollower(this.#tabId);
    this.#ticks = createInterval(env, TICK_MS, () => {
      this.#tick();
      this.#updateTick();
    });
    this.#presence = createInterval(env, PRESENCE_MS, () => this.#sendPresence());
    this.#stopListening = lifecycle.listen({
      onVisible: (isVisible) => this.#onVisible(isVisible),
      onLeave: () => this.#leave(),
      onShow: () => this.#join(),
    });
  }

  subscribe(session: string, cursor: () => Cursor | null, handler: SubscriptionHandler): Subscription {
    const id = ++this.#count;
    const entry: TabSubscriptionEntry = { session, cursor, handler, alone: null };
    this.#subscriptions.set(id, entry);
    if (this.#alone !== null) entry.alone = this.#alone.subscribe(session, cursor, handler);
    else this.#stepFollower({ type: "subscribe", subscriptionId: id, session });
    return {
      resync: () =>
        entry.alone === null
          ? this.#stepFollower({ type: "resync", subscriptionId: id })
          : entry.alone.resync(),
      unsubscribe: () => {
        if (!this.#subscriptions.delete(id)) return;
        if (entry.alone === null) this.#stepFollower({ type: "unsubscribe", subscriptionId: id });
        else entry.alone.unsubscribe();
      },
    };
  }

  command(command: TransportCommand): ReturnType<Transport["command"]> {
    if (this.#alone !== null) return this.#alone.command(command);
    if (this.#isClosed) return Promise.reject(new ClientError("OFFLINE", "The client is closed."));
    const request = `${this.#tabId}.${++this.#count}`;
    return new Promise((resolve, reject) => {
      this.#replies.set(request, { resolve, reject });
      this.#stepFollower({ type: "command", request, command });
      this.#updateTick();
    });
  }

  request(path: string, init?: RequestInit): Promise<Response> {
    return this.#options.request(path, init);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#leave();
    this.#isClosed = true;
    this.#stopListening();
    this.#alone?.close();
    this.#subscriptions.clear();
    const closed = new ClientError("UNSURE", "The client was closed before the reply.");
    for (const { reject } of this.#replies.values()) reject(closed);
    this.#replies.clear();
  }

  onUserChange(): void {
    if (this.#name === null || this.#isClosed) return;
    this.#name = null;
    this.#leave();
    void this.#start();
  }

  onUserKnown(): void {
    if (!this.#hasNoName || this.#isClosed) return;
    this.#hasNoName = false;
    // The tab had no credentials before, so its own transport never had a connection that could be lost.
    this.#alone?.close();
    this.#alone = null;
    this.#follower = createFollower(this.#tabId);
    for (const [id, entry] of this.#subscriptions) {
      entry.alone = null;
      this.#stepFollower({ type: "subscribe", subscriptionId: id, session: entry.session });
    }
    void this.#start();
  }

  // ---- joining and leaving

  async #start(): Promise<void> {
    const name = await this.#options.getChannelName().catch((error: unknown) => {
      this.#options.report.error(error, "OFFLINE", "The user of this tab is unknown. It connects alone.");
      this.#hasNoName = true;
      return null;
    });
    if (this.#isClosed || this.#name !== null) return;
    if (name === null) return this.#connectAlone();
    this.#name = `turnstream:${TABS_VERSION}:${name}`;
    this.#join();
  }

  #connectAlone(): void {
    const transport = this.#options.createTransport();
    this.#alone = transport;
    for (const entry of this.#subscriptions.values())
      entry.alone = transport.subscribe(entry.session, entry.cursor, entry.handler);
    for (const [request, { command }] of this.#follower.commands) {
      const pending = this.#replies.get(request);
      this.#replies.delete(request);
      transport.command(command).then(
        (ack) => pending?.resolve({ ...ack }),
        (error: ClientError) => pending?.reject(error),
      );
    }
  }

  #join(): void {
    if (this.#name === null || this.#isClosed || this.#channel !== null) return;
    this.#channel = this.#options.tabs.openChannel(this.#name, (data) => {
      const message = readTabMessage(data);
      if (message !== null) this.#onMessage(message);
    });
    this.#stepElection({ type: "start" });
    this.#presence.start();
  }

  #leave(): void {
    if (this.#channel === null) return;
    this.#stepElection({ type: "leave" });
    this.#queue(() => {
      this.#channel?.close();
      this.#channel = null;
      this.#presence.stop();
      this.#updateTick();
    });
  }

  #onVisible(isVisible: boolean): void {
    this.#stepElection({ type: "visible", isVisible });
    // The tab may have slept while hidden, and the leader may have removed it.
    if (isVisible) this.#stepFollower({ type: "rejoin" });
    else this.#sendPresence();
    this.#updateTick();
  }

  #sendPresence(): void {
    this.#sendToLeader({ type: "here", from: this.#tabId, isVisible: this.#election.isVisible });
  }

  // ---- messages

  #onMessage(message: FromLeader | ToLeader): void {
    if ("from" in message) {
      if (message.type === "hello" || message.type === "ping")
        this.#stepElection({ type: "leader requested" });
      this.#leader?.receive(message);
      return;
    }
    const { leader } = message;
    if (leader.tabId === this.#tabId) return this.#stepFollower({ type: "message", message });
    if (message.type === "resign") return this.#stepElection({ type: "resign", term: leader });
    // Any message of a leader proves that it is alive and leads.
    this.#stepElection({ type: "lead", term: leader });
    this.#stepFollower({ type: "message", message });
  }

  #sendToLeader(message: ToLeader): void {
    const leader = this.#leader;
    if (leader === null) this.#channel?.post(message);
    else this.#queue(() => leader === this.#leader && leader.receive(message));
  }

  // ---- state machines: one input at a time; effects of an input run before the next input

  #stepElection(input: ElectionInput): void {
    this.#queue(() => {
      const { env } = this.#options;
      const step = stepElection(this.#election, input, env.now(), env.random());
      this.#election = step.state;
      for (const effect of step.effects) this.#runElectionEffect(effect);
      this.#updateTick();
    });
  }

  #stepFollower(input: FollowerInput): void {
    void (this.#started ??= this.#start());
    this.#queue(() => {
      const step = stepFollower(this.#follower, input, this.#options.env.now());
      this.#follower = step.state;
      for (const effect of step.effects) this.#runFollowerEffect(effect);
    });
  }

  #runElectionEffect(effect: ElectionEffect): void {
    switch (effect.type) {
      case "request lock":
        return this.#requestLock(false);
      case "steal lock":
        this.#stoleAt = this.#options.env.now();
        return this.#requestLock(true);
      case "release lock":
        this.#lock?.release();
        this.#lock = null;
        return;
      case "send":
        return this.#channel?.post({
          type: effect.what,
          from: this.#tabId,
          isVisible: this.#election.isVisible,
        });
      case "announce":
        return this.#announce(effect.what, effect.term);
      case "drain":
        this.#options.env.setTimer(() => this.#stepElection({ type: "drained" }), DRAIN_MS);
        return;
      case "become leader":
        this.#leader = createLeader({
          term: effect.term,
          createTransport: this.#options.createTransport,
          env: this.#options.env,
          post: (message, isForOthers) => {
            const isForMe = !("to" in message) || message.to === null || message.to === this.#tabId;
            if (isForMe) this.#stepFollower({ type: "message", message });
            if (isForOthers) this.#channel?.post(message);
          },
        });
        return;
      case "step down":
        this.#leader?.close();
        this.#leader = null;
        return;
      case "follow":
        this.#stepFollower({ type: "follow", leader: effect.leader });
        if (effect.leader !== null) this.#sendPresence();
        return;
    }
  }

  #announce(type: "lead" | "resign", leader: LeaderTerm): void {
    const heads = this.#leader?.heads() ?? {};
    this.#channel?.post(type === "resign" ? { type, leader } : { type, leader, heads });
  }

  #requestLock(steal: boolean): void {
    const { report, tabs } = this.#options;
    if (this.#name === null) return;
    this.#lock?.release();
    const lock = tabs.requestLock(this.#name, {
      steal,
      // Queued, so that it runs after `requestLock` has returned, even if the lock is granted at once.
      onGranted: () => this.#queue(() => lock === this.#lock && this.#stepElection({ type: "granted" })),
      onTaken: () => this.#queue(() => lock === this.#lock && this.#stepElection({ type: "taken" })),
      onRefused: (error) => void report.error(error, "OFFLINE", "The browser refused a lock between tabs."),
    });
    this.#lock = lock;
  }

  #runFollowerEffect(effect: FollowerEffect): void {
    const { env } = this.#options;
    switch (effect.type) {
      case "request subscription": {
        const { subscriptionId, session, isUserInitiated } = effect;
        const cursor = this.#subscriptions.get(subscriptionId)?.cursor() ?? null;
        this.#follower = withPosition(this.#follower, subscriptionId, cursor);
        const message = { subscriptionId, session, cursor, isUserInitiated };
        return this.#sendToLeader({ type: "subscribe", from: this.#tabId, ...message });
      }
      case "leave": {
        const { subscriptionId } = effect;
        return this.#sendToLeader({ type: "unsubscribe", from: this.#tabId, subscriptionId });
      }
      case "send command": {
        const { request, command } = effect;
        return this.#sendToLeader({ type: "command", from: this.#tabId, request, at: env.now(), command });
      }
      case "connection":
        return this.#subscriptions.get(effect.subscriptionId)?.handler.onConnection(effect.view);
      case "subscribed": {
        const { resumed, reason, snapshot } = effect.start;
        const handler = this.#subscriptions.get(effect.subscriptionId)?.handler;
        handler?.onSubscribed({ resumed, reason });
        if (snapshot !== null) handler?.onSnapshot(snapshot.snapshot, snapshot.cursor);
        return;
      }
      case "events":
        return this.#subscriptions.get(effect.subscriptionId)?.handler.onEvents(effect.events);
      case "clock":
        for (const { handler } of this.#subscriptions.values()) handler.onClockSkew(effect.skewMs);
        return;
      case "settle": {
        const pending = this.#replies.get(effect.request);
        this.#replies.delete(effect.request);
        if (effect.outcome instanceof ClientError) pending?.reject(effect.outcome);
        else pending?.resolve(effect.outcome);
      }
    }
  }

  // ---- time

  /** Ticks while the tab is visible and another tab leads, and while a command is pending. Hidden tabs stay asleep. */
  #updateTick(): void {
    const { role, isVisible } = this.#election;
    const isFollowing = isVisible && role === "following";
    const isNeeded = !this.#isClosed && (isFollowing || this.#replies.size > 0);
    if (isNeeded) this.#ticks.start();
    else this.#ticks.stop();
  }

  #tick(): void {
    const now = this.#options.env.now();
    this.#stepFollower({ type: "tick" });
    if (isStalled(this.#follower, now) && now - this.#stoleAt > MIN_STEAL_INTERVAL_MS)
      this.#stepElection({ type: "stalled" });
    else this.#stepElection({ type: "tick" });
  }
}
