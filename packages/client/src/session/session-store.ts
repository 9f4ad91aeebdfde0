/**
 * `SessionStore` is the store of one session: the folded events and the outbox, over a transport.
 * Invariant: the first subscriber connects the store. After the last one it stays connected until the outbox is sent,
 * and at least for a few seconds, because a page can re-render. Events between a resync and its reply are dropped. A
 * second gap at the same position leads to a snapshot. A hydrated store shows unsent messages only after the first subscription, because the server that rendered the page doesn't know them.
 */
import {
  comparePositions,
  type Cursor,
  emptyState,
  formatCursor,
  restore,
  SCHEMA_VERSION,
  type SessionEvent,
  type SessionState,
  type Snapshot,
  upgradeSnapshot,
} from "@turnstream/protocol";
import type { RestReply } from "@turnstream/protocol/schema";
import { toClientError, ClientError, otherVersionError } from "../errors.ts";
import { type ConnectionView, INITIAL_CONNECTION } from "../transport/status.ts";
import type { Subscription, SubscriptionHandler } from "../transport/transport.ts";
import { applyEvents } from "./apply-events.ts";
import { createFrameScheduler, type FrameScheduler } from "./frame-scheduler.ts";
import { prependTurns, keepLoadedTurns, findMissingHistory, restoreTurns } from "./history.ts";
import type { SessionActivity } from "./may-close.ts";
import { SessionCommands } from "./session-commands.ts";
import { type SessionOutbox, createSessionOutbox, type SessionContext } from "./session-outbox.ts";
import type { HistoryView, MessageInput, SendResult, Session, SessionView } from "./session.ts";

const DISCONNECT_DELAY_MS = 5_000;
const HISTORY_PAGE_TURNS = 20;

export class SessionStore extends SessionCommands implements Session {
  readonly #context: SessionContext;
  readonly #path: string;
  readonly #listeners = new Set<() => void>();
  readonly #handler: SubscriptionHandler;
  #view: SessionView;
  #scheduler: FrameScheduler | null = null;
  readonly #outbox: SessionOutbox;
  #subscription: Subscription | null = null;
  #cancelDisconnect = (): void => {};
  /** Drops incoming events until the next `onSubscribed`, or until a snapshot. */
  #dropsUntil: "subscribed" | "snapshot" | null = null;
  /** Local state can't be resumed: request a snapshot. */
  #hasCaughtUp = false;
  #needsSnapshot = false;
  /** The position of the last gap. */
  #gapAt: number | null = null;
  /** An older server folded the snapshot, without what only newer events have. Each connection gets a new one. */
  #isFromOlderServer = false;
  #pendingRefreshes: { readonly resolve: () => void; readonly reject: (error: ClientError) => void }[] = [];
  #loading: Promise<void> | null = null;

  constructor(id: string, context: SessionContext) {
    super(id, context);
    this.#context = context;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
    const { report } = context.api;
    this.#handler = {
      onConnection: (view) => this.#onConnection(view),
      onSubscribed: ({ resumed, reason }) => {
        report.event?.({ type: "subscribed", sessionId: id, resumed, reason });
        this.#dropsUntil = resumed ? null : "snapshot";
      },
      onSnapshot: (snapshot) => this.#onSnapshot(snapshot),
      onEvents: (events) => {
        for (const event of events) report.event?.({ type: "event", sessionId: id, event });
        this.#onEvents(events);
      },
      onClockSkew: (skewMs) => this.#update({ skewMs }),
    };
    this.#outbox = createSessionOutbox(id, context, () => this.#update({ outbox: this.#outbox.list() }));
    this.#view = {
      state: emptyState,
      connection: INITIAL_CONNECTION,
      outbox: this.#outbox.list(),
      history: { hasMore: false, isLoading: false, error: null },
      skewMs: 0,
      hasLostTurns: false,
    };
  }

  readonly getSnapshot = (): SessionView => this.#view;

  readonly subscribe = (onChange: () => void): (() => void) => {
    // Wrapped, so that the same callback can subscribe twice.
    const listener = (): void => onChange();
    this.#listeners.add(listener);
    this.#cancelDisconnect();
    const { env } = this.#context;
    this.#outbox.setInUse(true);
    const outbox = this.#outbox.list();
    if (outbox !== this.#view.outbox) this.#update({ outbox });
    this.#scheduler ??= createFrameScheduler(this.#view, {
      notify: () => this.#notify(),
      env,
    });
    this.#connect();
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
      this.#scheduler?.close();
      this.#scheduler = null;
      this.#disconnectLater();
    };
  };

  /** Shows a state that a server has read. Ignored if this store is in use or has a newer state. */
  hydrate(dehydrated: string | object): void {
    try {
      const given = (typeof dehydrated === "string" ? JSON.parse(dehydrated) : dehydrated) as Snapshot;
      if (!this.isIdle || comparePositions(given, this.#view.state) <= 0) return;
      if (upgradeSnapshot(given) === null) throw otherVersionError();
      // A session can be named by its number too.
      if (given.session !== this.id && String(given.number) !== this.id)
        throw new TypeError(`The snapshot is of ${given.session}.`);
      this.#onSnapshot(given);
      this.#update({ outbox: [] });
    } catch (error) {
      this.#context.api.report.error(error, "BAD_REQUEST", "The snapshot can't be used.");
    }
  }

  /** Sends messages from before a reload, without a subscriber. */
  sendPending(): void {
    if (this.#listeners.size > 0 || this.#isOutboxDone()) return;
    this.#cancelDisconnect();
    this.#connect();
    this.#disconnectLater();
  }

  #connect(): void {
    this.#outbox.setInUse(true);
    this.#subscription ??= this.#context.transport.subscribe(this.id, () => this.#cursor(), this.#handler);
  }

  /** Waits until the outbox is empty: the page may show another session before it is online again. */
  #disconnectLater(): void {
    this.#cancelDisconnect = this.#context.env.setTimer(
      () => (this.#isOutboxDone() ? this.#disconnect() : this.#disconnectLater()),
      DISCONNECT_DELAY_MS,
    );
  }

  #isOutboxDone(): boolean {
    return this.#outbox.list().every(({ status }) => status === "failed");
  }

  get isIdle(): boolean {
    return this.#subscription === null && this.#listeners.size === 0;
  }

  get activity(): SessionActivity {
    const { state, connection } = this.#view;
    const isSubscribed = this.#subscription !== null;
    const { phase } = connection;
    return { state, outbox: this.#outbox.list(), phase, hasCaughtUp: this.#hasCaughtUp, isSubscribed };
  }

  /** Drops the state, which can be loaded again. Only while idle. */
  dropState(): void {
    if (!this.isIdle) return;
    this.#needsSnapshot = true;
    this.#update({ state: emptyState, connection: INITIAL_CONNECTION });
  }

  /**
   * Handles a change of the signed-in user.
   * @param isOtherUser true if the new user is confirmed to be another; then the previous user's data is neither shown
   * nor sent
   * @returns a function that reconnects, to call once all sessions have disconnected
   */
  onIdentityChange(isOtherUser: boolean): () => void {
    if (isOtherUser) {
      this.#disconnect();
      this.#outbox.setConnected(false);
    }
    this.#outbox.onIdentityChange(isOtherUser);
    if (!isOtherUser) return () => {};
    this.#needsSnapshot = true;
    this.#update({ state: emptyState });
    return () => {
      if (this.#listeners.size > 0) this.#connect();
    };
  }

  /** Releases everything: the connection, timers and listeners. */
  close(): void {
    this.#cancelDisconnect();
    this.#disconnect();
    this.#outbox.close();
    this.#scheduler?.close();
    this.#scheduler = null;
    this.#listeners.clear();
  }

  // ---- messages and history

  send(message: MessageInput): SendResult {
    this.#allowSending();
    return this.#outbox.add(message);
  }

  resendMessage(messageId: string): void {
    this.#allowSending();
    this.#outbox.resend(messageId);
  }

  /** Without a subscriber there is no connection to wait for, so messages are sent over HTTP. */
  #allowSending(): void {
    if (this.#subscription === null) this.#outbox.setConnected(true);
  }

  async cancelMessage(messageId: string): Promise<void> {
    if (this.#outbox.discard(messageId)) return;
    const { api, track } = this.#context;
    const path = `${this.#path}/messages/${encodeURIComponent(messageId)}`;
    await track(api.json(path, { method: "DELETE" }));
  }

  loadMore(): Promise<void> {
    this.#loading ??= this.#loadHistory().finally(() => (this.#loading = null));
    return this.#loading;
  }

  async refresh(): Promise<void> {
    this.#needsSnapshot = true;
    if (this.#subscription === null) {
      const { snapshot } = (await this.#context.api.json(`${this.#path}/snapshot`)) as RestReply<"snapshot">;
      this.#onSnapshot(snapshot as unknown as Snapshot);
      return;
    }
    const isDone = new Promise<void>((resolve, reject) => this.#pendingRefreshes.push({ resolve, reject }));
    this.#resync();
    await isDone;
  }

  // ---- incoming

  #cursor(): Cursor | null {
    const { state } = this.#view;
    return this.#needsSnapshot || this.#isFromOlderServer || state.seq === 0 ? null : formatCursor(state);
  }

  #onConnection(connection: ConnectionView): void {
    this.#outbox.setConnected(connection.phase === "live");
    // A page that closes its connection while it is hidden keeps what it had.
    if (connection.phase !== "hidden") this.#hasCaughtUp = connection.phase === "live";
    if (connection.phase === "closed") {
      const error = connection.error ?? new ClientError("OFFLINE", "The connection is closed.");
      for (const { reject } of this.#pendingRefreshes.splice(0)) reject(error);
    }
    this.#update({ connection });
  }

  #onSnapshot(snapshot: Snapshot): void {
    this.#dropsUntil = null;
    const upgraded = upgradeSnapshot(snapshot);
    if (upgraded === null) {
      this.#disconnect();
      this.#onConnection({ ...INITIAL_CONNECTION, phase: "closed", error: otherVersionError() });
      return;
    }
    const old = this.#view.state;
    const fresh = restore(upgraded);
    const isRefresh = this.#pendingRefreshes.length > 0 || this.#isFromOlderServer;
    this.#needsSnapshot = false;
    this.#isFromOlderServer = snapshot.v < SCHEMA_VERSION;
    this.#gapAt = null;
    if (isLoss(old, fresh)) this.#update({ hasLostTurns: true });
    this.#setState(isRefresh ? fresh : keepLoadedTurns(old, fresh));
    for (const { resolve } of this.#pendingRefreshes.splice(0)) resolve();
  }

  #onEvents(events: readonly SessionEvent[]): void {
    if (this.#dropsUntil !== null) return;
    const { state: before } = this.#view;
    const { state, outcome } = applyEvents(before, events);
    if (state !== before) this.#setState(state);
    if (outcome === "ok") return;
    // A second gap at the same position can't be closed by a resync from there, so request a snapshot.
    this.#needsSnapshot = outcome === "diverged" || this.#gapAt === state.seq;
    this.#gapAt = state.seq;
    this.#resync();
  }

  #resync(): void {
    this.#dropsUntil = "subscribed";
    this.#subscription?.resync();
  }

  #setState(state: SessionState): void {
    this.#update({ state });
    this.#outbox.removeLogged(state);
  }

  #update(change: Partial<SessionView>): void {
    const before = this.#view;
    // Assigns each field, because this runs for every delta and a spread costs more than the fold.
    const { state = before.state, connection = before.connection } = change;
    const { outbox = before.outbox, history = before.history, skewMs = before.skewMs } = change;
    const { hasLostTurns = before.hasLostTurns } = change;
    const hasMore = state.earlier > 0;
    this.#view = {
      state,
      connection,
      outbox,
      history: history.hasMore === hasMore ? history : { ...history, hasMore },
      skewMs,
      hasLostTurns,
    };
    this.#scheduler?.update(this.#view);
    this.#context.transport.onActivity();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #disconnect(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = null;
    this.#outbox.setInUse(false);
    this.#dropsUntil = null;
    const left = new ClientError("ABORTED", "The session has no subscriber.");
    for (const { reject } of this.#pendingRefreshes.splice(0)) reject(left);
    this.#update({ connection: INITIAL_CONNECTION });
  }

  async #loadHistory(): Promise<void> {
    const before = findMissingHistory(this.#view.state);
    if (before === null) return;
    this.#updateHistory({ isLoading: true, error: null });
    try {
      let next: number | null = before;
      let state = this.#view.state;
      // The loaded state may already contain a whole page, so load until at least one turn is new.
      while (next !== null) {
        const path = `${this.#path}/turns?before=${next}&limit=${HISTORY_PAGE_TURNS}`;
        const page = (await this.#context.api.json(path)) as RestReply<"turns">;
        state = this.#view.state;
        // The window was replaced in the meantime. The caller can load more again.
        if (findMissingHistory(state) !== before) break;
        const joined = prependTurns(state, restoreTurns(page.turns, page.v), !page.has_more);
        if (joined !== state) this.#setState(joined);
        next = joined.turns.length > state.turns.length ? null : page.next_before;
      }
      this.#updateHistory({ isLoading: false });
    } catch (error) {
      const message = "Older turns could not be loaded.";
      const failure = toClientError(error, "SERVER_ERROR", message, { canRetry: true });
      this.#updateHistory({ isLoading: false, error: failure });
      throw failure;
    }
  }

  #updateHistory(change: Partial<HistoryView>): void {
    this.#update({ history: { ...this.#view.history, ...change } });
  }
}

/**
 * Returns true if the session was set back to before the end of a turn. A snapshot of the same epoch may only be a moment
 * older, and an unfinished turn runs again. Pure.
 */
function isLoss(old: SessionState, fresh: SessionState): boolean {
  const ended = old.turns.findLast(({ end }) => end !== null);
  return fresh.session === old.session && fresh.epoch > old.epoch && fresh.seq < (ended?.end ?? 0);
}
