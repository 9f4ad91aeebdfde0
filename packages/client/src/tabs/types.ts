/** What a transport that tabs share is made of, and what it uses of the browser. Types only. */
import type { PageEnv } from "../env.ts";
import type { Transport } from "../transport/transport.ts";

export interface TabsEnv {
  readonly now: () => number;
  readonly random: () => number;
  readonly createId: () => string;
  readonly setTimer: (run: () => void, ms: number) => () => void;
  readonly page: PageEnv;
}

export interface PageLifecycle {
  isVisible(): boolean;
  /** `onShow` and `onLeave` also when the browser keeps the page to come back to. */
  listen(on: { onVisible(isVisible: boolean): void; onLeave(): void; onShow(): void }): () => void;
}

export interface TabChannel {
  post(message: unknown): void;
  close(): void;
}

/** Held until `release()`. */
export interface TabLock {
  release(): void;
}

export interface Tabs {
  openChannel(name: string, onMessage: (message: unknown) => void): TabChannel;
  /** Calls `onGranted` once it is there, and `onTaken` when another tab took it away. `release` also stops waiting. */
  requestLock(name: string, options: LockRequest): TabLock;
}

export interface LockRequest {
  readonly steal: boolean;
  readonly onGranted: () => void;
  readonly onTaken: () => void;
}

export interface SharedTransportOptions {
  /** What is shared: the same for the same server and person, and for nobody else. Null: nothing is. */
  readonly getChannelName: () => Promise<string | null>;
  /** The connection, for the tab that has it. @param page what all tabs that share it see; by default, this one */
  readonly createTransport: (page?: PageEnv) => Transport;
  /** Requests are each tab's own. */
  readonly request: Transport["request"];
  readonly tabs: Tabs;
  readonly lifecycle: PageLifecycle;
  readonly env: TabsEnv;
}

export interface SharedTransport extends Transport {
  /** Somebody else is signed in: leaves those it shared with, and joins those of `getChannelName()` now. */
  onUserChange(): void;
  /** It became known who is signed in: a tab that went alone because nobody could say joins the others. */
  onUserKnown(): void;
}
