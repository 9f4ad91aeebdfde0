/**
 * `createLeader` runs the leading tab: one connection for all tabs, the sessions that any tab subscribed to, and their
 * commands. `leader-session.ts` has the rules of a session.
 * Invariant: the leader does not decide which tab leads; `election.ts` does. It posts nothing after `close`. A command
 * that arrives more than 10 seconds after it was posted is rejected with OFFLINE and never sent.
 */
import type { Cursor } from "@turnstream/protocol";
import { toClientError, ClientError } from "../errors.ts";
import type { PageEnv } from "../env.ts";
import { type ConnectionView, INITIAL_CONNECTION } from "../transport/status.ts";
import type { Transport, SubscriptionHandler, Subscription } from "../transport/transport.ts";
import type { TabsEnv } from "./types.ts";
import {
  type LeaderSessionEffect,
  type LeaderSessionInput,
  type LeaderSessionState,
  createLeaderSession,
  stepLeaderSession,
  type TabSubscriber,
} from "./leader-session.ts";
import { type FromLeader, type LeaderTerm, type ToLeader, serializeView } from "./messages.ts";
import { createSnapshotLoader } from "./snapshot-loader.ts";

export interface LeaderOptions {
  readonly term: LeaderTerm;
  /** @param page the combined visibility of all tabs */
  readonly createTransport: (page: PageEnv) => Transport;
  readonly env: TabsEnv;
  /** Posts to the leading tab itself, and with `isForOthers` also to the other tabs. */
  readonly post: (message: FromLeader, isForOthers: boolean) => void;
}

export interface Leader {
  receive(message: ToLeader): void;
  /** Returns the latest cursor of each session. */
  heads(): Readonly<Record<string, Cursor>>;
  close(): void;
}

interface SharedSession {
  state: LeaderSessionState;
  view: ConnectionView;
  subscription: Subscription;
}

/**
 * A tab that sent nothing for this long counts as closed. Frozen tabs subscribe again, and hidden tabs send once a
 * minute.
 */
const TAB_TIMEOUT_MS = 5 * 60_000;
/** An older command was sent to a sleeping tab, and its sender already received UNSURE. */
const STALE_COMMAND_MS = 10_000;

/** Phases in which a request of the user skips the backoff. */
const RETRYABLE_PHASES: readonly ConnectionView["phase"][] = ["waiting", "offline", "closed"];

export function createLeader(options: LeaderOptions): Leader {
  const { term, env } = options;
  const visibility = createTabVisibility(env.page);
  const transport = options.createTransport(visibility.page);
  const sessions = new Map<string, SharedSession>();
  const lastSeenAt = new Map<string, number>();
  let skewMs: number | null = null;
  let isClosed = false;

  const post = (message: FromLeader, session: SharedSession | null): void => {
    const to = "to" in message ? message.to : null;
    const isForOthers =
      to === null
        ? session === null || session.state.subscribers.some(({ tabId }) => tabId !== term.tabId)
        : to !== term.tabId;
    if (!isClosed) options.post(message, isForOthers);
  };

  const input = (sessionId: string, event: LeaderSessionInput): void => {
    const session = sessions.get(sessionId);
    if (session === undefined || isClosed) return;
    const step = stepLeaderSession(session.state, event);
    session.state = step.state;
    for (const effect of step.effects) runEffect(sessionId, session, effect);
    if (session.state.subscribers.length > 0) return;
    sessions.delete(sessionId);
    session.subscription.unsubscribe();
  };

  const runEffect = (sessionId: string, session: SharedSession, effect: LeaderSessionEffect): void => {
    switch (effect.type) {
      case "start": {
        const { to, start } = effect;
        return post(
          {
            type: "subscribed",
            leader: term,
            session: sessionId,
            to: to?.tabId ?? null,
            subscriptionId: to?.subscriptionId ?? 0,
            start,
          },
          session,
        );
      }
      case "events": {
        const { to, events } = effect;
        return post(
          {
            type: "events",
            leader: term,
            session: sessionId,
            to: to?.tabId ?? null,
            subscriptionId: to?.subscriptionId ?? 0,
            events,
          },
          session,
        );
      }
      case "load snapshot":
        if (session.view.phase !== "closed") snapshots.load(sessionId, effect.subscriber);
        return;
      case "resync":
        return session.subscription.resync();
    }
  };

  const snapshots = createSnapshotLoader({
    transport,
    env,
    isNeeded(sessionId, subscriber) {
      const session = sessions.get(sessionId);
      if (session === undefined || session.view.phase === "closed") return false;
      const isSame = ({ tabId, subscriptionId }: TabSubscriber): boolean =>
        tabId === subscriber.tabId && subscriptionId === subscriber.subscriptionId;
      return session.state.subscribers.some((entry) => entry.phase === "loading" && isSame(entry));
    },
    onLoaded: (sessionId, subscriber, snapshot, cursor) =>
      input(sessionId, { type: "snapshot loaded", subscriber, snapshot, cursor }),
    onGiveUp: (sessionId) => input(sessionId, { type: "snapshot failed" }),
  });

  const open = (sessionId: string, session: SharedSession): void => {
    const handler: SubscriptionHandler = {
      onConnection(view) {
        session.view = view;
        post({ type: "connection", leader: term, session: sessionId, view: serializeView(view) }, session);
      },
      onSubscribed({ resumed, reason }) {
        input(sessionId, { type: "subscribed", resumed, reason });
        snapshots.retryNow(sessionId);
      },
      onSnapshot: (snapshot, cursor) => input(sessionId, { type: "snapshot", snapshot, cursor }),
      onEvents: (events) => input(sessionId, { type: "events", events }),
      onClockSkew(skew) {
        if (skew === skewMs) return;
        skewMs = skew;
        post({ type: "clock", leader: term, skewMs: skew }, null);
      },
    };
    session.subscription = transport.subscribe(sessionId, () => session.state.cursor, handler);
  };

  const join = (message: Extract<ToLeader, { readonly type: "subscribe" }>): void => {
    const { from: tabId, subscriptionId, session: sessionId, cursor } = message;
    let session = sessions.get(sessionId);
    const isNew = session === undefined;
    session ??= {
      state: createLeaderSession(cursor),
      view: INITIAL_CONNECTION,
      subscription: { resync() {}, unsubscribe() {} },
    };
    sessions.set(sessionId, session);
    input(sessionId, { type: "join", subscriber: { tabId, subscriptionId }, cursor });
    if (isNew) return open(sessionId, session);
    post(
      { type: "connection", leader: term, session: sessionId, view: serializeView(session.view) },
      session,
    );
    if (skewMs !== null) post({ type: "clock", leader: term, skewMs }, null);
    if (message.isUserInitiated !== true) return;
    if (RETRYABLE_PHASES.includes(session.view.phase)) session.subscription.resync();
    snapshots.retryNow(sessionId);
  };

  const command = async (message: Extract<ToLeader, { readonly type: "command" }>): Promise<void> => {
    const { from: to, request } = message;
    try {
      if (env.now() - message.at > STALE_COMMAND_MS)
        throw new ClientError("OFFLINE", "The command arrived too late to be sent. Try again.", {
          canRetry: true,
        });
      const ack = await transport.command(message.command);
      post({ type: "reply", leader: term, to, request, ack: { ...ack }, error: null }, null);
    } catch (error) {
      const failure = toClientError(error, "UNSURE", "The outcome of the command is unknown.");
      post({ type: "reply", leader: term, to, request, ack: null, error: failure.toJSON() }, null);
    }
  };

  const removeTab = (tabId: string): void => {
    lastSeenAt.delete(tabId);
    visibility.update(tabId, false);
    for (const sessionId of sessions.keys()) input(sessionId, { type: "leave all", tabId });
  };

  const removeSilentTabs = (): void => {
    for (const [tabId, at] of lastSeenAt)
      if (tabId !== term.tabId && env.now() - at > TAB_TIMEOUT_MS) removeTab(tabId);
  };

  return {
    receive(message) {
      lastSeenAt.set(message.from, env.now());
      switch (message.type) {
        case "subscribe":
          return join(message);
        case "unsubscribe":
          for (const sessionId of sessions.keys())
            input(sessionId, {
              type: "leave",
              subscriber: { tabId: message.from, subscriptionId: message.subscriptionId },
            });
          return;
        case "command":
          return void command(message);
        case "bye":
          return removeTab(message.from);
        case "here":
        case "hello":
        case "ping":
          // The leading tab knows its own visibility.
          if (message.from !== term.tabId) visibility.update(message.from, message.isVisible ?? false);
          if (message.type === "here") removeSilentTabs();
      }
    },
    heads: () =>
      Object.fromEntries(
        [...sessions].flatMap(([sessionId, { state }]) =>
          state.hasStarted && state.cursor !== null ? [[sessionId, state.cursor]] : [],
        ),
      ),
    close() {
      isClosed = true;
      snapshots.close();
      sessions.clear();
      transport.close();
    },
  };
}

/**
 * Tracks whether any tab that shares the connection is visible. The connection is probed while any tab is visible, not
 * only the leading one.
 */
export interface TabVisibility {
  /** The page as the connection sees it: hidden only while all tabs are hidden. */
  readonly page: PageEnv;
  update(tabId: string, isVisible: boolean): void;
}

/** @param ownPage the page of the leading tab */
export function createTabVisibility(ownPage: PageEnv): TabVisibility {
  const visibleTabs = new Set<string>();
  const listeners = new Set<() => void>();
  return {
    page: {
      isPage: ownPage.isPage,
      isOnline: () => ownPage.isOnline(),
      isHidden: () => ownPage.isHidden() && visibleTabs.size === 0,
      onChange(changed) {
        const stop = ownPage.onChange(changed);
        listeners.add(changed);
        return () => {
          stop();
          listeners.delete(changed);
        };
      },
    },
    update(tabId, isVisible) {
      if (visibleTabs.has(tabId) === isVisible) return;
      if (isVisible) visibleTabs.add(tabId);
      else visibleTabs.delete(tabId);
      for (const changed of listeners) changed();
    },
  };
}
