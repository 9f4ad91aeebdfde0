/**
 * The store of one session over a transport: the folded events, and the outbox. Connected while it has a subscriber, and
 * for a few seconds after, so that a page that draws itself again doesn't reconnect. Doesn't know which transport it has.
 */
import {
  type Cursor,
  emptyState,
  formatCursor,
  restore,
  restoreTurn,
  SCHEMA_VERSION,
  type SessionEvent,
  type SessionState,
  type Snapshot,
  START_CURSOR,
  type TurnSnapshot,
} from "@turnstream/protocol";
import type { RestReply } from "@turnstream/protocol/schema";
import { toClientError, ClientError } from "../errors.ts";
import { type ConnectionView, INITIAL_CONNECTION } from "../transport/status.ts";
import type { Subscription, SubscriptionHandler } from "../transport/transport.ts";
import { applyEvents } from "./apply-events.ts";
import { createFrameScheduler, type FrameScheduler } from "./frame-scheduler.ts";
import { prependTurns, keepLoadedTurns, findMissingHistory } from "./history.ts";
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
  #needsSnapshot = false;
  /** Where a gap was seen last. */
  #gapAt: number | null = null;
  /** The snapshot was of another version: load all events instead. */
  #isOtherVersion = false;
  #pendingRefreshes: { readonly resolve: () => void; readonly reject: (error: ClientError) => void }[] = [];
  #loading: Promise<void> | null = null;

  constructor(id: string, context: SessionContext) {
    super(id, context);
    this.#context = context;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
    this.#handler = {
      onConnection: (view) => this.#onConnection(view),
      onSubscribed: ({ resumed }) => (this.#dropsUntil = resumed ? null : "snapshot"),
      onSnapshot: (snapshot) => this.#onSnapshot(snapshot),
      onEvents: (events) => this.#onEvents(events),
      onClockSkew: (skewMs) => this.#update({ skewMs }),
    };
    this.#outbox = createSessionOutbox(id, context, () => this.#update({ outbox: this.#outbox.list() }));
    this.#view = {
      state: emptyState,
      connection: INITIAL_CONNECTION,
      outbox: this.#outbox.list(),
      history: { hasMore: false, isLoading: false, error: null },
      skewMs: 0,
    };
  }

  readonly getSnapshot = (): SessionView => this.#view;

  readonly subscribe = (onChange: () => void): (() => void) => {
    // Wrapped, so that the same callback can subscribe twice.
    const listener = (): void => onChange();
    this.#listeners.add(listener);
    this.#cancelDisconnect();
    const { env } = this.#context;
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

  /** Sends what still waits from before a reload, though nobody looks at it. */
  sendPending(): void {
    if (this.#listeners.size > 0 || this.#isOutboxDone()) return;
    this.#cancelDisconnect();
    this.#connect();
    this.#disconnectLater();
  }

  #connect(): void {
    this.#subscription ??= this.#context.transport.subscribe(this.id, () => this.#cursor(), this.#handler);
  }

  /** What is on its way still goes: a page may show another session before there is a network. */
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

  /** Drops what can be loaded again. Only while idle. */
  dropState(): void {
    if (!this.isIdle) return;
    this.#needsSnapshot = true;
    this.#update({ state: emptyState, connection: INITIAL_CONNECTION });
  }

  /**
   * Another user is signed in. @param isOtherUser whether that is confirmed: then nothing of the user before is shown, or
   * sent over their connection  @returns reconnects, once all sessions have disconnected
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

  close(): void {
    this.#cancelDisconnect();
    this.#disconnect();
    this.#outbox.close();
  }

  // ---- messages and history

  send(message: MessageInput): SendResult {
    // With nobody looking there is no connection to wait for: it goes by HTTP.
    if (this.#subscription === null) this.#outbox.setConnected(true);
    return this.#outbox.add(message);
  }

  resendMessage(messageId: string): void {
    this.#outbox.resend(messageId);
  }

  async cancelMessage(messageId: string): Promise<void> {
    if (this.#outbox.discard(messageId)) return;
    await this.#context.api.json(`${this.#path}/messages/${encodeURIComponent(messageId)}`, {
      method: "DELETE",
    });
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
    if (this.#isOtherVersion) return START_CURSOR;
    return this.#needsSnapshot || state.seq === 0 ? null : formatCursor(state);
  }

  #onConnection(connection: ConnectionView): void {
    this.#outbox.setConnected(connection.phase === "live");
    if (connection.phase === "closed") {
      const error = connection.error ?? new ClientError("OFFLINE", "The connection is closed.");
      for (const { reject } of this.#pendingRefreshes.splice(0)) reject(error);
    }
    this.#update({ connection });
  }

  #onSnapshot(snapshot: Snapshot): void {
    this.#dropsUntil = null;
    if (snapshot.v !== SCHEMA_VERSION) {
      this.#onOtherVersion();
      return;
    }
    const old = this.#view.state;
    const fresh = restore(snapshot);
    const isRefresh = this.#pendingRefreshes.length > 0;
    this.#needsSnapshot = false;
    this.#isOtherVersion = false;
    this.#gapAt = null;
    this.#setState(isRefresh ? fresh : keepLoadedTurns(old, fresh));
    for (const { resolve } of this.#pendingRefreshes.splice(0)) resolve();
  }

  /** What another version folds is not ours to read, but its events are: once, from the first. */
  #onOtherVersion(): void {
    if (!this.#isOtherVersion) {
      this.#isOtherVersion = true;
      this.#setState(emptyState);
      this.#resync();
      return;
    }
    const message = "This page is older or newer than the server. Reload it.";
    this.#disconnect();
    this.#onConnection({
      ...INITIAL_CONNECTION,
      phase: "closed",
      error: new ClientError("BAD_REQUEST", message),
    });
  }

  #onEvents(events: readonly SessionEvent[]): void {
    if (this.#dropsUntil !== null) return;
    const { state: before } = this.#view;
    const { state, outcome } = applyEvents(before, events);
    if (state !== before) {
      this.#isOtherVersion = false;
      this.#setState(state);
    }
    if (outcome === "ok") return;
    // The same gap again is not mended by asking for what comes after it.
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
    // One by one: this is done for every delta, and spreading costs more than folding.
    const { state = before.state, connection = before.connection } = change;
    const { outbox = before.outbox, history = before.history, skewMs = before.skewMs } = change;
    const hasMore = state.earlier > 0;
    this.#view = {
      state,
      connection,
      outbox,
      history: history.hasMore === hasMore ? history : { ...history, hasMore },
      skewMs,
    };
    this.#scheduler?.update(this.#view);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #disconnect(): void {
    this.#subscription?.unsubscribe();
    this.#subscription = null;
    this.#dropsUntil = null;
    const left = new ClientError("ABORTED", "Nobody looks at the session any more.");
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
      // Some of a page may be here already; what is asked for is more than that.
      while (next !== null) {
        const path = `${this.#path}/turns?before=${next}&limit=${HISTORY_PAGE_TURNS}`;
        const page = (await this.#context.api.json(path)) as RestReply<"turns">;
        state = this.#view.state;
        // The window was given anew meanwhile: whoever wants more asks again.
        if (findMissingHistory(state) !== before) break;
        const turns = (page.turns as unknown as readonly TurnSnapshot[]).map(restoreTurn);
        const joined = prependTurns(state, turns, !page.has_more);
        if (joined !== state) this.#setState(joined);
        next = joined.turns.length > state.turns.length ? null : page.next_before;
      }
      this.#updateHistory({ isLoading: false });
    } catch (error) {
      const message = "Older turns could not be read.";
      const failure = toClientError(error, "SERVER_ERROR", message, { canRetry: true });
      this.#updateHistory({ isLoading: false, error: failure });
      throw failure;
    }
  }

  #updateHistory(change: Partial<HistoryView>): void {
    this.#update({ history: { ...this.#view.history, ...change } });
  }
}
