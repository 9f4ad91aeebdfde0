/**
 * `TabSharing`, `SharedTransport`, `Tabs` and `PageLifecycle` are the types of the shared transport and of the browser
 * features that it uses. Types only.
 * Invariant: `browser.ts` implements the browser features, and nothing else in the folder uses them directly. Tabs with
 * the same channel name share a connection, so the name must be unique for a server and user.
 */
import type { Cursor } from "@turnstream/protocol";
import type { Auth } from "../auth/auth.ts";
import type { PageEnv } from "../env.ts";
import type { Reporter } from "../report.ts";
import type { Subscription, SubscriptionHandler, Transport } from "../transport/transport.ts";

export interface TabsEnv {
  readonly now: () => number;
  readonly random: () => number;
  readonly createId: () => string;
  readonly setTimer: (run: () => void, ms: number) => () => void;
  readonly page: PageEnv;
}

export interface PageLifecycle {
  isVisible(): boolean;
  /** Calls `onLeave` and `onShow` also when the page enters or leaves the back/forward cache. */
  listen(on: { onVisible(isVisible: boolean): void; onLeave(): void; onShow(): void }): () => void;
}

export interface TabChannel {
  post(message: unknown): void;
  close(): void;
}

/** Locked until `release()`. */
export interface TabLock {
  release(): void;
}

export interface Tabs {
  openChannel(name: string, onMessage: (message: unknown) => void): TabChannel;
  /**
   * Calls `onGranted` when the lock is granted, and `onTaken` when another tab steals it. `release` also cancels the
   * request.
   */
  requestLock(name: string, options: LockRequest): TabLock;
}

export interface LockRequest {
  readonly steal: boolean;
  readonly onGranted: () => void;
  readonly onTaken: () => void;
  /** The browser refuses to lock. */
  readonly onRefused: (error: unknown) => void;
}

export interface SharedTransportOptions {
  /** Returns the name of the shared channel, unique for a server and user; null: don't share. */
  readonly getChannelName: () => Promise<string | null>;
  /**
   * Creates the connection of the leading tab. @param page the combined page of all sharing tabs; by default, this page
   */
  readonly createTransport: (page?: PageEnv) => Transport;
  /** Requests are sent by each tab itself. */
  readonly request: Transport["request"];
  readonly tabs: Tabs;
  readonly lifecycle: PageLifecycle;
  readonly env: TabsEnv;
  readonly report: Reporter;
}

/**
 * The option `tabs` of a client: `shareTabs` of `@turnstream/client/tabs`. Returns null if tabs can't share: not a
 * browser, an old one, or an insecure page.
 */
export type TabSharing = (
  options: Pick<SharedTransportOptions, "createTransport" | "request" | "env" | "report"> & {
    readonly url: string;
    readonly auth: Auth;
  },
) => SharedTransport | null;

export interface SharedTransport extends Transport {
  /**
   * Call it when another user signs in: leaves the previous channel and joins the one that `getChannelName()` returns
   * now.
   */
  onUserChange(): void;
  /** Call it when the user becomes known: a tab that connected alone because its user was unknown joins the others. */
  onUserKnown(): void;
}

/** A session that this tab follows. */
export interface TabSubscriptionEntry {
  readonly session: string;
  readonly cursor: () => Cursor | null;
  readonly handler: SubscriptionHandler;
  /** The subscription of this tab's own connection, if it connects alone. */
  alone: Subscription | null;
}
