/**
 * A link that tabs of one browser share: one of them has the connection, the others watch and command through it. Does
 * what role.ts and member.ts say. Where tabs can't find each other, or nobody may share, it is this tab's own link.
 */
import type { Cursor } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";
import type { Link, LinkCommand, LinkHandler, Watch } from "../transport/transport.ts";
import { createHub, type Hub } from "./leader.ts";
import {
  isStalled,
  type MemberEffect,
  type MemberInput,
  newMember,
  positioned,
  stepMember,
} from "./follower.ts";
import {
  type Acked,
  type FromLeader,
  readTabMessage,
  type Reign,
  TABS_VERSION,
  type ToLeader,
} from "./messages.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import type { Channel, Lock } from "./types.ts";
import { newRole, type RoleEffect, type RoleInput, stepRole, TICK_MS } from "./election.ts";
import type { Shared, SharedLinkOptions } from "./types.ts";

interface Reply {
  readonly resolve: (ack: Acked) => void;
  readonly reject: (error: ClientError) => void;
}

interface Watched {
  readonly session: string;
  readonly cursor: () => Cursor | null;
  readonly handler: LinkHandler;
  /** Once it is known that nothing is shared. */
  alone: Watch | null;
}

/** What the leader before has said may come that much later. */
const DRAIN_MS = 50;
/** Hidden tabs say so often that they are there. */
const HERE_MS = 60_000;
const STEAL_AGAIN_MS = 15_000;

export function sharedLink(options: SharedLinkOptions): Shared {
  return new SharedLink(options);
}

class SharedLink implements Shared {
  readonly #options: SharedLinkOptions;
  readonly #me: string;
  readonly #watched = new Map<number, Watched>();
  readonly #replies = new Map<string, Reply>();
  readonly #run = oneAtATime();
  readonly #stopListening: () => void;
  #role;
  #member;
  #name: string | null = null;
  #alone: Link | null = null;
  #channel: Channel | null = null;
  #lock: Lock | null = null;
  #hub: Hub | null = null;
  /** It went alone because `name()` failed, as it does in a page that is opened offline. */
  #isNameless = false;
  #isClosed = false;
  #stoleAt = -Infinity;
  #count = 0;
  #cancelTick: (() => void) | null = null;
  #cancelHere: (() => void) | null = null;

  constructor(options: SharedLinkOptions) {
    this.#options = options;
    const { env, page } = options;
    this.#me = env.id();
    this.#role = newRole(this.#me, page.isVisible(), env.now());
    this.#member = newMember(this.#me);
    this.#stopListening = page.listen({
      visible: (isVisible) => this.#visible(isVisible),
      left: () => this.#leave(),
      shown: () => this.#enter(),
    });
    void this.#start();
  }

  watch(session: string, cursor: () => Cursor | null, handler: LinkHandler): Watch {
    const watch = ++this.#count;
    const watched: Watched = { session, cursor, handler, alone: null };
    this.#watched.set(watch, watched);
    if (this.#alone !== null) watched.alone = this.#alone.watch(session, cursor, handler);
    else this.#tell({ type: "watch", watch, session });
    return {
      again: () => (watched.alone === null ? this.#tell({ type: "again", watch }) : watched.alone.again()),
      stop: () => {
        if (!this.#watched.delete(watch)) return;
        if (watched.alone === null) this.#tell({ type: "unwatch", watch });
        else watched.alone.stop();
      },
    };
  }

  command(command: LinkCommand): ReturnType<Link["command"]> {
    if (this.#alone !== null) return this.#alone.command(command);
    if (this.#isClosed) return Promise.reject(new ClientError("OFFLINE", "The client is closed."));
    const request = `${this.#me}.${++this.#count}`;
    return new Promise((resolve, reject) => {
      this.#replies.set(request, { resolve, reject });
      this.#tell({ type: "command", request, command });
      this.#plan();
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
    this.#watched.clear();
    const closed = new ClientError("UNSURE", "The client was closed before the answer came.");
    for (const { reject } of this.#replies.values()) reject(closed);
    this.#replies.clear();
  }

  moved(): void {
    if (this.#name === null || this.#isClosed) return;
    this.#name = null;
    this.#leave();
    void this.#start();
  }

  known(): void {
    if (!this.#isNameless || this.#isClosed) return;
    this.#isNameless = false;
    // Nothing let it in before: this link never had a connection that could be missed.
    this.#alone?.close();
    this.#alone = null;
    this.#member = newMember(this.#me);
    for (const [watch, watched] of this.#watched) {
      watched.alone = null;
      this.#tell({ type: "watch", watch, session: watched.session });
    }
    void this.#start();
  }

  // ---- coming and going

  async #start(): Promise<void> {
    const name = await this.#options.name().catch(() => {
      this.#isNameless = true;
      return null;
    });
    if (this.#isClosed || this.#name !== null) return;
    if (name === null) return this.#goAlone();
    this.#name = `turnstream:${TABS_VERSION}:${name}`;
    this.#enter();
  }

  #goAlone(): void {
    const link = this.#options.makeLink();
    this.#alone = link;
    for (const watched of this.#watched.values())
      watched.alone = link.watch(watched.session, watched.cursor, watched.handler);
    for (const [request, { command }] of this.#member.commands) {
      const waiting = this.#replies.get(request);
      this.#replies.delete(request);
      link.command(command).then(
        (ack) => waiting?.resolve({ ...ack }),
        (error: ClientError) => waiting?.reject(error),
      );
    }
  }

  #enter(): void {
    if (this.#name === null || this.#isClosed || this.#channel !== null) return;
    this.#channel = this.#options.tabs.openChannel(this.#name, (heard) => {
      const message = readTabMessage(heard);
      if (message !== null) this.#hear(message);
    });
    this.#input({ type: "start" });
    this.#sayHere();
  }

  #leave(): void {
    if (this.#channel === null) return;
    this.#input({ type: "leave" });
    this.#run(() => {
      this.#channel?.close();
      this.#channel = null;
      this.#cancelHere?.();
      this.#cancelHere = null;
      this.#plan();
    });
  }

  #visible(isVisible: boolean): void {
    this.#input({ type: "visible", isVisible });
    // It may have slept while hidden, and been forgotten.
    if (isVisible) this.#tell({ type: "rejoin" });
    else this.#here();
    this.#plan();
  }

  #sayHere(): void {
    this.#cancelHere = this.#options.env.setTimer(() => {
      this.#here();
      this.#sayHere();
    }, HERE_MS);
  }

  #here(): void {
    this.#say({ type: "here", from: this.#me, isVisible: this.#role.isVisible });
  }

  // ---- what is heard and said

  #hear(message: FromLeader | ToLeader): void {
    if ("from" in message) {
      if (message.type === "hello" || message.type === "ping") this.#input({ type: "asked" });
      this.#hub?.receive(message);
      return;
    }
    const { by } = message;
    if (by.tab === this.#me) return this.#tell({ type: "heard", message });
    if (message.type === "resign") return this.#input({ type: "resign", by });
    // Whatever a leader says shows that it is there, and that it leads.
    this.#input({ type: "lead", by });
    this.#tell({ type: "heard", message });
  }

  /** To whoever leads. */
  #say(message: ToLeader): void {
    const hub = this.#hub;
    if (hub === null) this.#channel?.post(message);
    else this.#run(() => hub === this.#hub && hub.receive(message));
  }

  // ---- the machines. One input at a time: what follows from one comes after it.

  #input(input: RoleInput): void {
    this.#run(() => {
      const { env } = this.#options;
      const step = stepRole(this.#role, input, env.now(), env.random());
      this.#role = step.state;
      for (const effect of step.effects) this.#carryOut(effect);
      this.#plan();
    });
  }

  #tell(input: MemberInput): void {
    this.#run(() => {
      const step = stepMember(this.#member, input, this.#options.env.now());
      this.#member = step.state;
      for (const effect of step.effects) this.#pass(effect);
    });
  }

  #carryOut(effect: RoleEffect): void {
    switch (effect.type) {
      case "request lock":
        return this.#request(false);
      case "steal lock":
        this.#stoleAt = this.#options.env.now();
        return this.#request(true);
      case "release lock":
        this.#lock?.release();
        this.#lock = null;
        return;
      case "say":
        return this.#channel?.post({
          type: effect.what,
          from: this.#me,
          isVisible: this.#role.isVisible,
        });
      case "announce":
        return this.#announce(effect.what, effect.by);
      case "drain":
        this.#options.env.setTimer(() => this.#input({ type: "drained" }), DRAIN_MS);
        return;
      case "reign":
        this.#hub = createHub({
          by: effect.by,
          makeLink: this.#options.makeLink,
          env: this.#options.env,
          post: (message, isForOthers) => {
            const isForMe = !("to" in message) || message.to === null || message.to === this.#me;
            if (isForMe) this.#tell({ type: "heard", message });
            if (isForOthers) this.#channel?.post(message);
          },
        });
        return;
      case "abdicate":
        this.#hub?.close();
        this.#hub = null;
        return;
      case "follow":
        this.#tell({ type: "follow", leader: effect.leader });
        if (effect.leader !== null) this.#here();
        return;
    }
  }

  #announce(what: "lead" | "resign", by: Reign): void {
    const message: FromLeader =
      what === "resign" ? { type: what, by } : { type: what, by, heads: this.#hub?.heads() ?? {} };
    this.#channel?.post(message);
  }

  #request(isStolen: boolean): void {
    if (this.#name === null) return;
    this.#lock?.release();
    const lock = this.#options.tabs.requestLock(this.#name, {
      isStolen,
      // After the request has returned, even where it is granted at once.
      granted: () => this.#run(() => lock === this.#lock && this.#input({ type: "granted" })),
      taken: () => this.#run(() => lock === this.#lock && this.#input({ type: "taken" })),
    });
    this.#lock = lock;
  }

  #pass(effect: MemberEffect): void {
    const { env } = this.#options;
    switch (effect.type) {
      case "ask": {
        const cursor = this.#watched.get(effect.watch)?.cursor() ?? null;
        this.#member = positioned(this.#member, effect.watch, cursor);
        return this.#say({
          type: "watch",
          from: this.#me,
          watch: effect.watch,
          session: effect.session,
          cursor,
          isWish: effect.isWish,
        });
      }
      case "part":
        return this.#say({ type: "unwatch", from: this.#me, watch: effect.watch });
      case "give": {
        const { request, command } = effect;
        return this.#say({ type: "command", from: this.#me, request, at: env.now(), command });
      }
      case "connection":
        return this.#watched.get(effect.watch)?.handler.connection(effect.view);
      case "begun": {
        const { resumed, reason, snapshot } = effect.beginning;
        const handler = this.#watched.get(effect.watch)?.handler;
        handler?.begun({ resumed, reason });
        if (snapshot !== null) handler?.snapshot(snapshot.snapshot, snapshot.cursor);
        return;
      }
      case "events":
        return this.#watched.get(effect.watch)?.handler.events(effect.events);
      case "clock":
        for (const { handler } of this.#watched.values()) handler.clock(effect.skewMs);
        return;
      case "settle": {
        const waiting = this.#replies.get(effect.request);
        this.#replies.delete(effect.request);
        if (effect.outcome instanceof ClientError) waiting?.reject(effect.outcome);
        else waiting?.resolve(effect.outcome);
      }
    }
  }

  // ---- time

  /** Ticks while somebody looks and another tab leads, and while a command waits; hidden tabs stay asleep. */
  #plan(): void {
    const { role, isVisible } = this.#role;
    const isWatching = isVisible && role === "following";
    const isNeeded = !this.#isClosed && (isWatching || this.#replies.size > 0);
    if (isNeeded === (this.#cancelTick !== null)) return;
    if (!isNeeded) {
      this.#cancelTick?.();
      this.#cancelTick = null;
      return;
    }
    this.#cancelTick = this.#options.env.setTimer(() => {
      this.#cancelTick = null;
      this.#tick();
      this.#plan();
    }, TICK_MS);
  }

  #tick(): void {
    const now = this.#options.env.now();
    this.#tell({ type: "tick" });
    if (isStalled(this.#member, now) && now - this.#stoleAt > STEAL_AGAIN_MS)
      this.#input({ type: "stalled" });
    else this.#input({ type: "tick" });
  }
}
