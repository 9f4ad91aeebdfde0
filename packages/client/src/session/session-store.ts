/**
 * The store of one session over a link: what came, folded, and what is on its way. Connected while somebody subscribes, and
 * for a few seconds after, so that a page that draws itself anew doesn't connect anew. Never knows how the link is made.
 */
import {
  classifyEvent,
  type Cursor,
  emptyState,
  fold,
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
import { asClientError, ClientError } from "../errors.ts";
import { withJson } from "../http/api.ts";
import { upload } from "../http/upload.ts";
import { type ConnectionView, NOT_CONNECTED } from "../transport/status.ts";
import type { LinkCommand, LinkHandler, Watch } from "../transport/transport.ts";
import { createNotifier, type Notifier } from "./frame-scheduler.ts";
import { joinOlder, keepOlder, missingBefore } from "./history.ts";
import { type SessionOutbox, sessionOutbox, type SessionParts } from "./session-outbox.ts";
import type { OlderView, SentMessage, Session, SessionView } from "./session.ts";

const GRACE_MS = 5_000;
const OLDER_TURNS = 20;

type Given<Method extends keyof Session> = Session[Method] extends (...args: infer Args) => unknown
  ? Args
  : never;

export class LiveSession implements Session {
  readonly id: string;
  readonly #parts: SessionParts;
  readonly #path: string;
  readonly #listeners = new Set<() => void>();
  readonly #handler: LinkHandler;
  #view: SessionView;
  #notifier: Notifier | null = null;
  readonly #outbox: SessionOutbox;
  #watch: Watch | null = null;
  #cancelGrace = (): void => {};
  /** What came is not to be taken until the next beginning, or until a snapshot has come. */
  #awaits: "begin" | "snapshot" | null = null;
  /** What is here is not to be gone on from. */
  #isLost = false;
  /** Where a gap was seen last. */
  #gapAt: number | null = null;
  /** The snapshot was of another version: everything is to be told as events. */
  #isForeign = false;
  #refreshes: { readonly resolve: () => void; readonly reject: (error: ClientError) => void }[] = [];
  #loading: Promise<void> | null = null;

  constructor(id: string, parts: SessionParts) {
    this.id = id;
    this.#parts = parts;
    this.#path = `/sessions/${encodeURIComponent(id)}`;
    this.#handler = {
      connection: (view) => this.#connection(view),
      begun: ({ resumed }) => (this.#awaits = resumed ? null : "snapshot"),
      snapshot: (snapshot) => this.#snapshot(snapshot),
      events: (events) => this.#events(events),
      clock: (skewMs) => this.#change({ skewMs }),
    };
    this.#outbox = sessionOutbox(id, parts, () => this.#change({ outbox: this.#outbox.list() }));
    this.#view = {
      state: emptyState,
      connection: NOT_CONNECTED,
      outbox: this.#outbox.list(),
      older: { hasMore: false, isLoading: false, error: null },
      skewMs: 0,
    };
  }

  readonly getSnapshot = (): SessionView => this.#view;

  readonly subscribe = (onChange: () => void): (() => void) => {
    // One that is passed twice is meant twice.
    const listener = (): void => onChange();
    this.#listeners.add(listener);
    this.#cancelGrace();
    const { env } = this.#parts;
    this.#notifier ??= createNotifier(this.#view, {
      notify: () => this.#notify(),
      env,
    });
    this.#connect();
    return () => {
      if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
      this.#notifier?.close();
      this.#notifier = null;
      this.#leaveSoon();
    };
  };

  /** Sends what still waits from before a reload, though nobody looks at it. */
  deliver(): void {
    if (this.#listeners.size > 0 || this.#hasNothingToSend()) return;
    this.#cancelGrace();
    this.#connect();
    this.#leaveSoon();
  }

  #connect(): void {
    this.#watch ??= this.#parts.link.watch(this.id, () => this.#cursor(), this.#handler);
  }

  /** What is on its way still goes: a page may show another session before there is a network. */
  #leaveSoon(): void {
    this.#cancelGrace = this.#parts.env.setTimer(
      () => (this.#hasNothingToSend() ? this.#leave() : this.#leaveSoon()),
      GRACE_MS,
    );
  }

  #hasNothingToSend(): boolean {
    return this.#outbox.list().every(({ status }) => status === "failed");
  }

  get isIdle(): boolean {
    return this.#watch === null && this.#listeners.size === 0;
  }

  /** Drops what can be loaded again. Only while idle. */
  forget(): void {
    if (!this.isIdle) return;
    this.#isLost = true;
    this.#change({ state: emptyState, connection: NOT_CONNECTED });
  }

  /**
   * Another person is signed in. @param isAnother whether that is sure: then nothing of the one before is shown, or goes
   * over their connection  @returns what to do once all have left it
   */
  personChanged(isAnother: boolean): () => void {
    if (isAnother) {
      this.#leave();
      this.#outbox.connected(false);
    }
    this.#outbox.personChanged(isAnother);
    if (!isAnother) return () => {};
    this.#isLost = true;
    this.#change({ state: emptyState });
    return () => {
      if (this.#listeners.size > 0) this.#connect();
    };
  }

  close(): void {
    this.#cancelGrace();
    this.#leave();
    this.#outbox.close();
  }

  // ---- what can be done

  send(message: Given<"send">[0]): SentMessage {
    // With nobody looking there is no connection to wait for: it goes by HTTP.
    if (this.#watch === null) this.#outbox.connected(true);
    return this.#outbox.add(message);
  }

  resend(id: string): void {
    this.#outbox.resend(id);
  }

  async withdraw(id: string): Promise<void> {
    if (this.#outbox.discard(id)) return;
    await this.#parts.api.json(`${this.#path}/messages/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  stop(turn?: string): Promise<void> {
    return this.#command({ type: "stop", ...(turn === undefined ? {} : { message_id: turn }) });
  }

  async retry(turn: string): Promise<void> {
    const headers = { "idempotency-key": this.#parts.env.id() };
    const path = `${this.#path}/turns/${encodeURIComponent(turn)}/retry`;
    await this.#parts.api.json(path, { method: "POST", headers });
  }

  decide(...[approval_key, decision]: Given<"decide">): Promise<void> {
    return this.#command({ type: "decide", approval_key, ...decision });
  }

  answer(...[approval_key, answers]: Given<"answer">): Promise<void> {
    return this.#command({ type: "answer", approval_key, answers });
  }

  dismiss(approval_key: string, reason?: string): Promise<void> {
    return this.#command({ type: "dismiss", approval_key, ...(reason === undefined ? {} : { reason }) });
  }

  submit(...[form_request_id, values]: Given<"submit">): Promise<void> {
    return this.#command({ type: "submit", form_request_id, values });
  }

  decline(form_request_id: string, reason?: string): Promise<void> {
    return this.#command({ type: "decline", form_request_id, ...(reason === undefined ? {} : { reason }) });
  }

  async saveDraft(...[form, values]: Given<"saveDraft">): Promise<void> {
    await this.#parts.api.json(this.#draft(form), withJson("PUT", { values }));
  }

  async loadDraft(form: string): ReturnType<Session["loadDraft"]> {
    const { draft } = (await this.#parts.api.json(this.#draft(form))) as RestReply<"draft">;
    return (draft?.values ?? null) as Awaited<ReturnType<Session["loadDraft"]>>;
  }

  upload(...[file, options]: Given<"upload">): ReturnType<Session["upload"]> {
    const { api, env } = this.#parts;
    return upload(api, this.id, file, options, env.id());
  }

  loadOlder(): Promise<void> {
    this.#loading ??= this.#loadOlder().finally(() => (this.#loading = null));
    return this.#loading;
  }

  async refresh(): Promise<void> {
    this.#isLost = true;
    if (this.#watch === null) {
      const { snapshot } = (await this.#parts.api.json(`${this.#path}/snapshot`)) as RestReply<"snapshot">;
      this.#snapshot(snapshot as unknown as Snapshot);
      return;
    }
    const isDone = new Promise<void>((resolve, reject) => this.#refreshes.push({ resolve, reject }));
    this.#again();
    await isDone;
  }

  // ---- what comes

  #cursor(): Cursor | null {
    const { state } = this.#view;
    if (this.#isForeign) return START_CURSOR;
    return this.#isLost || state.seq === 0 ? null : formatCursor(state);
  }

  #connection(connection: ConnectionView): void {
    this.#outbox.connected(connection.phase === "live");
    if (connection.phase === "closed") {
      const error = connection.error ?? new ClientError("OFFLINE", "The connection is closed.");
      for (const { reject } of this.#refreshes.splice(0)) reject(error);
    }
    this.#change({ connection });
  }

  #snapshot(snapshot: Snapshot): void {
    this.#awaits = null;
    if (snapshot.v !== SCHEMA_VERSION) {
      this.#foreign();
      return;
    }
    const old = this.#view.state;
    const fresh = restore(snapshot);
    const isRefresh = this.#refreshes.length > 0;
    this.#isLost = false;
    this.#isForeign = false;
    this.#gapAt = null;
    this.#take(isRefresh ? fresh : keepOlder(old, fresh));
    for (const { resolve } of this.#refreshes.splice(0)) resolve();
  }

  /** What another version folds is not ours to read, but its events are: once, from the first. */
  #foreign(): void {
    if (!this.#isForeign) {
      this.#isForeign = true;
      this.#take(emptyState);
      this.#again();
      return;
    }
    const words = "This page is older or newer than the server. Reload it.";
    this.#leave();
    this.#connection({ ...NOT_CONNECTED, phase: "closed", error: new ClientError("BAD_REQUEST", words) });
  }

  #events(events: readonly SessionEvent[]): void {
    if (this.#awaits !== null) return;
    const { state: before } = this.#view;
    const { state, verdict } = takeEvents(before, events);
    if (state !== before) {
      this.#isForeign = false;
      this.#take(state);
    }
    if (verdict === "fine") return;
    // The same gap again is not mended by asking for what comes after it.
    this.#isLost = verdict === "diverged" || this.#gapAt === state.seq;
    this.#gapAt = state.seq;
    this.#again();
  }

  #again(): void {
    this.#awaits = "begin";
    this.#watch?.again();
  }

  #take(state: SessionState): void {
    this.#change({ state });
    this.#outbox.shown(state);
  }

  #change(change: Partial<SessionView>): void {
    const before = this.#view;
    // One by one: this is done for every delta, and spreading costs more than folding.
    const { state = before.state, connection = before.connection } = change;
    const { outbox = before.outbox, older = before.older, skewMs = before.skewMs } = change;
    const hasMore = state.earlier > 0;
    this.#view = {
      state,
      connection,
      outbox,
      older: older.hasMore === hasMore ? older : { ...older, hasMore },
      skewMs,
    };
    this.#notifier?.changed(this.#view);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #leave(): void {
    this.#watch?.stop();
    this.#watch = null;
    this.#awaits = null;
    const left = new ClientError("ABORTED", "Nobody looks at the session any more.");
    for (const { reject } of this.#refreshes.splice(0)) reject(left);
    this.#change({ connection: NOT_CONNECTED });
  }

  async #loadOlder(): Promise<void> {
    const before = missingBefore(this.#view.state);
    if (before === null) return;
    this.#older({ isLoading: true, error: null });
    try {
      let next: number | null = before;
      let state = this.#view.state;
      // Some of a page may be here already; what is asked for is more than that.
      while (next !== null) {
        const path = `${this.#path}/turns?before=${next}&limit=${OLDER_TURNS}`;
        const page = (await this.#parts.api.json(path)) as RestReply<"turns">;
        state = this.#view.state;
        // The window was given anew meanwhile: whoever wants more asks again.
        if (missingBefore(state) !== before) break;
        const turns = (page.turns as unknown as readonly TurnSnapshot[]).map(restoreTurn);
        const joined = joinOlder(state, turns, !page.has_more);
        if (joined !== state) this.#take(joined);
        next = joined.turns.length > state.turns.length ? null : page.next_before;
      }
      this.#older({ isLoading: false });
    } catch (error) {
      const words = "Older turns could not be read.";
      const why = asClientError(error, "SERVER_ERROR", words, { canRetry: true });
      this.#older({ isLoading: false, error: why });
      throw why;
    }
  }

  #older(change: Partial<OlderView>): void {
    this.#change({ older: { ...this.#view.older, ...change } });
  }

  #draft(form: string): string {
    return `${this.#path}/interactions/${encodeURIComponent(form)}/draft`;
  }

  async #command(
    command: LinkCommand extends infer C ? (C extends unknown ? Omit<C, "session_id"> : never) : never,
  ) {
    await this.#parts.link.command({ ...command, session_id: this.id });
  }
}

/** What events make of a session: folded where they belong, left out where they are known, refused where some are missing. Pure. */
export interface Taken {
  readonly state: SessionState;
  /** gap: ask again from here. diverged: what is here is of a log that is lost, load it anew. */
  readonly verdict: "fine" | "gap" | "diverged";
}

export function takeEvents(before: SessionState, events: readonly SessionEvent[]): Taken {
  let state = before;
  for (const event of events) {
    const next = fold(state, event);
    // Nearly every event is the next one, and then the fold has looked at its place already.
    const isNext = next !== state && (event.first ?? next.seq) === state.seq + 1;
    if (!isNext) {
      const place = classifyEvent(state, event);
      if (place === "gap" || place === "diverged") return { state, verdict: place };
    }
    state = next;
  }
  return { state, verdict: "fine" };
}
