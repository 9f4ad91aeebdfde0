/** What a link that tabs share is made of, and what it can do beyond any other. Types only. */
import type { Link } from "../transport/transport.ts";
import type { Outside } from "../options.ts";
import type { Page, Tabs, TabsEnv } from "./browser.ts";

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
