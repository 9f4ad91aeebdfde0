/**
 * The leading tab's side: one connection for all tabs, a feed for each session that anybody watches, and their commands.
 * The rules of a feed are in feed.ts. Never decides who leads.
 */
import type { Cursor } from "@turnstream/protocol";
import { asClientError, ClientError } from "../errors.ts";
import type { Outside } from "../env.ts";
import { type ConnectionView, NOT_CONNECTED } from "../transport/status.ts";
import type { Link, LinkHandler, Watch } from "../transport/transport.ts";
import type { TabsEnv } from "./types.ts";
import {
  type FeedEffect,
  type FeedInput,
  type FeedState,
  newFeed,
  stepFeed,
  type Watcher,
} from "./leader-session.ts";
import { type FromLeader, type Reign, type ToLeader, writeError, writeView } from "./messages.ts";
import { createFetches } from "./snapshot-loader.ts";

export interface HubOptions {
  readonly by: Reign;
  /** @param outside what all tabs see together */
  readonly makeLink: (outside: Outside) => Link;
  readonly env: TabsEnv;
  /** To the tab of this hub, and to the others where `isForOthers`. */
  readonly post: (message: FromLeader, isForOthers: boolean) => void;
}

export interface Hub {
  receive(message: ToLeader): void;
  /** Where each session stands. */
  heads(): Readonly<Record<string, Cursor>>;
  close(): void;
}

interface Feed {
  state: FeedState;
  view: ConnectionView;
  watch: Watch;
}

/** A tab that wasn't heard for so long is gone; frozen ones ask again when they are back. Hidden ones speak once a minute. */
const FORGET_MS = 5 * 60_000;
/** A command that is older was given to a tab that slept: who gave it was told that nobody knows. */
const STALE_COMMAND_MS = 10_000;

/** Waits to be tried again, or is closed for good: until somebody says "now". */
const TRIES_AGAIN: readonly ConnectionView["phase"][] = ["waiting", "offline", "closed"];

export function createHub(options: HubOptions): Hub {
  const { by, env } = options;
  const onlookers = createOnlookers(env.outside);
  const link = options.makeLink(onlookers.outside);
  const feeds = new Map<string, Feed>();
  const seen = new Map<string, number>();
  let skewMs: number | null = null;
  let isClosed = false;

  const post = (message: FromLeader, feed: Feed | null): void => {
    const to = "to" in message ? message.to : null;
    const isForOthers =
      to === null ? feed === null || feed.state.watchers.some(({ tab }) => tab !== by.tab) : to !== by.tab;
    if (!isClosed) options.post(message, isForOthers);
  };

  const input = (session: string, what: FeedInput): void => {
    const feed = feeds.get(session);
    if (feed === undefined || isClosed) return;
    const step = stepFeed(feed.state, what);
    feed.state = step.state;
    for (const effect of step.effects) carryOut(session, feed, effect);
    if (feed.state.watchers.length > 0) return;
    feeds.delete(session);
    feed.watch.stop();
  };

  const carryOut = (session: string, feed: Feed, effect: FeedEffect): void => {
    switch (effect.type) {
      case "begin": {
        const { to, beginning } = effect;
        return post(
          { type: "begun", by, session, to: to?.tab ?? null, watch: to?.watch ?? 0, beginning },
          feed,
        );
      }
      case "events": {
        const { to, events } = effect;
        return post(
          { type: "events", by, session, to: to?.tab ?? null, watch: to?.watch ?? 0, events },
          feed,
        );
      }
      case "fetch":
        if (feed.view.phase !== "closed") fetches.want(session, effect.who);
        return;
      case "again":
        return feed.watch.again();
    }
  };

  const fetches = createFetches({
    link,
    env,
    isWanted(session, who) {
      const feed = feeds.get(session);
      if (feed === undefined || feed.view.phase === "closed") return false;
      const isSame = ({ tab, watch }: Watcher): boolean => tab === who.tab && watch === who.watch;
      return feed.state.watchers.some((one) => one.phase === "fetching" && isSame(one));
    },
    fetched: (session, who, snapshot, cursor) => input(session, { type: "fetched", who, snapshot, cursor }),
    gaveUp: (session) => input(session, { type: "unfetchable" }),
  });

  const open = (session: string, feed: Feed): void => {
    const handler: LinkHandler = {
      connection(view) {
        feed.view = view;
        post({ type: "connection", by, session, view: writeView(view) }, feed);
      },
      begun({ resumed, reason }) {
        input(session, { type: "begun", resumed, reason });
        fetches.hurry(session);
      },
      snapshot: (snapshot, cursor) => input(session, { type: "snapshot", snapshot, cursor }),
      events: (events) => input(session, { type: "events", events }),
      clock(skew) {
        if (skew === skewMs) return;
        skewMs = skew;
        post({ type: "clock", by, skewMs: skew }, null);
      },
    };
    feed.watch = link.watch(session, () => feed.state.cursor, handler);
  };

  const join = (message: Extract<ToLeader, { readonly type: "watch" }>): void => {
    const { from: tab, watch, session, cursor } = message;
    let feed = feeds.get(session);
    const isNew = feed === undefined;
    feed ??= { state: newFeed(cursor), view: NOT_CONNECTED, watch: { again() {}, stop() {} } };
    feeds.set(session, feed);
    input(session, { type: "join", who: { tab, watch }, cursor });
    if (isNew) return open(session, feed);
    post({ type: "connection", by, session, view: writeView(feed.view) }, feed);
    if (skewMs !== null) post({ type: "clock", by, skewMs }, null);
    if (message.isWish !== true) return;
    if (TRIES_AGAIN.includes(feed.view.phase)) feed.watch.again();
    fetches.hurry(session);
  };

  const command = async (message: Extract<ToLeader, { readonly type: "command" }>): Promise<void> => {
    const { from: to, request } = message;
    try {
      if (env.now() - message.at > STALE_COMMAND_MS)
        throw new ClientError("OFFLINE", "It came too late to be sent. Try again.", { canRetry: true });
      const ack = await link.command(message.command);
      post({ type: "reply", by, to, request, ack: { ...ack }, error: null }, null);
    } catch (error) {
      const why = asClientError(error, "UNSURE", "Nobody knows whether it arrived.");
      post({ type: "reply", by, to, request, ack: null, error: writeError(why) }, null);
    }
  };

  const partAll = (tab: string): void => {
    seen.delete(tab);
    onlookers.heard(tab, false);
    for (const session of feeds.keys()) input(session, { type: "part all", tab });
  };

  const forget = (): void => {
    for (const [tab, at] of seen) if (tab !== by.tab && env.now() - at > FORGET_MS) partAll(tab);
  };

  return {
    receive(message) {
      seen.set(message.from, env.now());
      switch (message.type) {
        case "watch":
          return join(message);
        case "unwatch":
          for (const session of feeds.keys())
            input(session, { type: "part", who: { tab: message.from, watch: message.watch } });
          return;
        case "command":
          return void command(message);
        case "bye":
          return partAll(message.from);
        case "here":
        case "hello":
        case "ping":
          // This one sees for itself whether somebody looks at it.
          if (message.from !== by.tab) onlookers.heard(message.from, message.isVisible ?? false);
          if (message.type === "here") forget();
      }
    },
    heads: () =>
      Object.fromEntries(
        [...feeds].flatMap(([session, { state }]) =>
          state.hasBegun && state.cursor !== null ? [[session, state.cursor]] : [],
        ),
      ),
    close() {
      isClosed = true;
      fetches.close();
      feeds.clear();
      link.close();
    },
  };
}

/**
 * Who looks at the tabs that share a connection: it is asked whether it is there as long as anybody looks at any of them,
 * not only at the tab that has it. Never says anything itself.
 */
export interface Onlookers {
  /** What the connection sees: hidden only while nobody looks at any tab. */
  readonly outside: Outside;
  heard(tab: string, isVisible: boolean): void;
}

/** @param own what the tab with the connection sees */
export function createOnlookers(own: Outside): Onlookers {
  const looking = new Set<string>();
  const listeners = new Set<() => void>();
  return {
    outside: {
      isPage: own.isPage,
      isOnline: () => own.isOnline(),
      isHidden: () => own.isHidden() && looking.size === 0,
      onChange(changed) {
        const stop = own.onChange(changed);
        listeners.add(changed);
        return () => {
          stop();
          listeners.delete(changed);
        };
      },
    },
    heard(tab, isVisible) {
      if (looking.has(tab) === isVisible) return;
      if (isVisible) looking.add(tab);
      else looking.delete(tab);
      for (const changed of listeners) changed();
    },
  };
}
