/** What a transport that tabs share is made of, and what it uses of the browser. Types only. */
import type { Outside } from "../env.ts";
import type { Link } from "../transport/transport.ts";

export interface TabsEnv {
  readonly now: () => number;
  readonly random: () => number;
  readonly id: () => string;
  readonly setTimer: (run: () => void, ms: number) => () => void;
  readonly outside: Outside;
}

export interface Page {
  isVisible(): boolean;
  /** `shown` and `left` also when the browser keeps the page to come back to. */
  listen(on: { visible(isVisible: boolean): void; left(): void; shown(): void }): () => void;
}

export interface Channel {
  post(message: unknown): void;
  close(): void;
}

/** Who has it holds it until `release`. */
export interface Lock {
  release(): void;
}

export interface Tabs {
  openChannel(name: string, heard: (message: unknown) => void): Channel;
  /** Calls `granted` once it is there, and `taken` when another tab took it away. `release` also stops waiting. */
  requestLock(name: string, options: LockRequest): Lock;
}

export interface LockRequest {
  readonly isStolen: boolean;
  readonly granted: () => void;
  readonly taken: () => void;
}

export interface SharedLinkOptions {
  /** What is shared: the same for the same server and person, and for nobody else. Null: nothing is. */
  readonly name: () => Promise<string | null>;
  /** The connection, for the tab that has it. @param outside what all tabs that share it see; unless given, this one */
  readonly makeLink: (outside?: Outside) => Link;
  /** Requests are each tab's own. */
  readonly request: Link["request"];
  readonly tabs: Tabs;
  readonly page: Page;
  readonly env: TabsEnv;
}

export interface Shared extends Link {
  /** Somebody else is signed in: leaves those it shared with, and joins those of `name()` now. */
  moved(): void;
  /** It became known who is signed in: a tab that went alone because nobody could say joins the others. */
  known(): void;
}
