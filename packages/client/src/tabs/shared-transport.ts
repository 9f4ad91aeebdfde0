/**
 * The entry to sharing one connection between the tabs of a browser. Nothing outside this folder imports another file of
 * it. The code is loaded as a chunk of its own, so that a page can be drawn before it is loaded.
 */
import type { Cursor } from "@turnstream/protocol";
import { ClientError } from "../errors.ts";
import type {
  Transport,
  TransportCommand,
  SubscriptionHandler,
  Subscription,
} from "../transport/transport.ts";
import { browserLifecycle, findBrowserTabs } from "./browser.ts";
import type { SharedTransport, SharedTransportOptions } from "./types.ts";

export type { SharedTransportOptions } from "./types.ts";

/** Null where tabs can't share: no browser, an old one, or not a secure page. */
export function createSharedTransport(
  options: Omit<SharedTransportOptions, "tabs" | "lifecycle">,
): SharedTransport | null {
  const tabs = findBrowserTabs();
  return tabs === null ? null : createLazyTransport({ ...options, tabs, lifecycle: browserLifecycle });
}

/**
 * A transport whose code is still being loaded: what is asked of it meanwhile is done once it is loaded. If it can't be
 * loaded, this tab connects alone.
 */
export function createLazyTransport(options: SharedTransportOptions): SharedTransport {
  /** Shared, unless this tab goes alone. */
  let transport: Transport | SharedTransport | null = null;
  let isClosed = false;
  const waiting: ((transport: Transport) => void)[] = [];
  const use = (loaded: Transport): Transport => {
    transport = loaded;
    if (isClosed) {
      loaded.close();
      waiting.length = 0;
    }
    for (const start of waiting.splice(0)) start(loaded);
    return loaded;
  };
  const loading: Promise<Transport> = import("./tab-transport-chunk.ts").then(
    ({ createTabTransport }) => use(createTabTransport(options)),
    () => use(options.createTransport()),
  );
  return {
    subscribe: (session, cursor, handler) =>
      transport === null
        ? subscribeLater(waiting, session, cursor, handler)
        : transport.subscribe(session, cursor, handler),
    async command(command: TransportCommand) {
      const loaded = transport ?? (await loading);
      if (isClosed) throw new ClientError("OFFLINE", "The client is closed.");
      return await loaded.command(command);
    },
    request: options.request,
    onUserChange() {
      asShared(transport)?.onUserChange();
    },
    onUserKnown() {
      asShared(transport)?.onUserKnown();
    },
    close() {
      isClosed = true;
      transport?.close();
    },
  };
}

function asShared(transport: Transport | SharedTransport | null): SharedTransport | null {
  return transport !== null && "onUserChange" in transport ? transport : null;
}

function subscribeLater(
  waiting: ((transport: Transport) => void)[],
  session: string,
  cursor: () => Cursor | null,
  handler: SubscriptionHandler,
): Subscription {
  let subscription: Subscription | null = null;
  let isOver = false;
  waiting.push((transport) => {
    if (!isOver) subscription = transport.subscribe(session, cursor, handler);
  });
  return {
    // Before it is loaded there is nothing to resync.
    resync: () => subscription?.resync(),
    unsubscribe() {
      isOver = true;
      subscription?.unsubscribe();
    },
  };
}
