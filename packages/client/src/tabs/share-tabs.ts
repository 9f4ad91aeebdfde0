/**
 * `shareTabs` (`@turnstream/client/tabs`) shares one connection between the tabs of a browser. Most of its code is loaded
 * as a separate chunk, so that a page can render before it is loaded.
 * Invariant: subscriptions and commands wait until the chunk is loaded. If it can't be loaded, the tab connects alone.
 * Only tabs of the same user share, and only if a token names the user. This file imports the chunk only dynamically,
 * and no other folder imports this folder, except for types.
 */
import type { Cursor } from "@turnstream/protocol";
import { readClaims } from "../auth/claims.ts";
import { ClientError } from "../errors.ts";
import type {
  Transport,
  TransportCommand,
  SubscriptionHandler,
  Subscription,
} from "../transport/transport.ts";
import { browserLifecycle, findBrowserTabs } from "./browser.ts";
import type { SharedTransport, SharedTransportOptions, TabSharing } from "./types.ts";

/** Pass it as `tabs` of `createClient`. Where tabs can't share, each has its own connection. */
export const shareTabs: TabSharing = ({ url, auth, ...options }) => {
  const tabs = findBrowserTabs();
  if (tabs === null) return null;
  const getChannelName = async (): Promise<string | null> => {
    const credentials = await auth.get();
    const { tenant, sub } =
      "token" in credentials ? readClaims(credentials.token) : { tenant: null, sub: null };
    return tenant === null || sub === null ? null : JSON.stringify([url, tenant, sub]);
  };
  return createLazyTransport({ ...options, getChannelName, tabs, lifecycle: browserLifecycle });
};

/**
 * Wraps the transport while its chunk is loading: calls are queued until then. If the chunk can't be loaded, this tab
 * connects alone.
 */
export function createLazyTransport(options: SharedTransportOptions): SharedTransport {
  /** The shared transport, or the tab's own one if it connects alone. */
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
    (error: unknown) => {
      options.report.error(
        error,
        "OFFLINE",
        "The code that shares a connection between tabs can't be loaded.",
      );
      return use(options.createTransport());
    },
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
    // Before the chunk is loaded there is nothing to resync.
    resync: () => subscription?.resync(),
    unsubscribe() {
      isOver = true;
      subscription?.unsubscribe();
    },
  };
}
