/**
 * A link whose code is still being loaded: what is asked of it meanwhile is done once it is there. If it can't be loaded,
 * this tab goes alone.
 */
import type { Cursor } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";
import type { Outside } from "../options.ts";
import type { Link, LinkCommand, LinkHandler, Watch } from "../transport/transport.ts";
import type { Page, Tabs, TabsEnv } from "./browser.ts";

export function laterLink(options: SharedLinkOptions): Shared {
  /** Shared, unless this tab goes alone. */
  let link: Link | Shared | null = null;
  let isClosed = false;
  const waiting: ((link: Link) => void)[] = [];
  const arrived = (there: Link): Link => {
    link = there;
    if (isClosed) {
      there.close();
      waiting.length = 0;
    }
    for (const tell of waiting.splice(0)) tell(there);
    return there;
  };
  const loading: Promise<Link> = import("./tabs-chunk.ts").then(
    ({ sharedLink }) => arrived(sharedLink(options)),
    () => arrived(options.makeLink()),
  );
  return {
    watch: (session, cursor, handler) =>
      link === null ? watchLater(waiting, session, cursor, handler) : link.watch(session, cursor, handler),
    async command(command: LinkCommand) {
      const there = link ?? (await loading);
      if (isClosed) throw new ClientError("OFFLINE", "The client is closed.");
      return await there.command(command);
    },
    request: options.request,
    moved() {
      sharedOf(link)?.moved();
    },
    known() {
      sharedOf(link)?.known();
    },
    close() {
      isClosed = true;
      link?.close();
    },
  };
}

function sharedOf(link: Link | Shared | null): Shared | null {
  return link !== null && "moved" in link ? link : null;
}

function watchLater(
  waiting: ((link: Link) => void)[],
  session: string,
  cursor: () => Cursor | null,
  handler: LinkHandler,
): Watch {
  let watch: Watch | null = null;
  let isOver = false;
  waiting.push((link) => {
    if (!isOver) watch = link.watch(session, cursor, handler);
  });
  return {
    // It begins anew by itself when it begins at all.
    again: () => watch?.again(),
    stop() {
      isOver = true;
      watch?.stop();
    },
  };
}

/** What a link that tabs share is made of, and what it can do beyond any other. Types only. */
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
