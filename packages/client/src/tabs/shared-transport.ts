/**
 * The entry to sharing one connection between the tabs of a browser. Nothing outside this folder imports another file of
 * it. The code is loaded as a chunk of its own, so that a page can be drawn before it is there.
 */
import type { Cursor } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";
import type { Link, LinkCommand, LinkHandler, Watch } from "../transport/transport.ts";
import { browserPage, browserTabs } from "./browser.ts";
import type { Shared, SharedLinkOptions } from "./types.ts";

export type { SharedLinkOptions } from "./types.ts";

/** Null where tabs can't share: no browser, an old one, or not a secure page. */
export function createSharedTransport(options: Omit<SharedLinkOptions, "tabs" | "page">): Shared | null {
  const tabs = browserTabs();
  return tabs === null ? null : laterLink({ ...options, tabs, page: browserPage });
}

/**
 * A transport whose code is still being loaded: what is asked of it meanwhile is done once it is there. If it can't be
 * loaded, this tab connects alone.
 */
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
  const loading: Promise<Link> = import("./tab-transport-chunk.ts").then(
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
