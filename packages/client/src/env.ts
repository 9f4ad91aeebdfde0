/**
 * `createEnv` collects the replaceable globals of a client, with defaults for browsers, workers and Node.
 * Invariant: it never throws, also without a document, a WebSocket or a permitted storage. A given value replaces its
 * default.
 */

/** Replaceable globals, for tests, servers and unusual browsers. */
export interface ClientEnv {
  readonly now: () => number;
  readonly random: () => number;
  readonly createId: () => string;
  readonly fetch: typeof fetch;
  readonly WebSocket: typeof WebSocket;
  /** Stores unsent messages across reloads; null: they last only as long as the page. */
  readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length"> | null;
  /** Runs before the next animation frame, or soon if nothing is drawn. Returns a function that cancels it. */
  readonly nextFrame: (run: () => void) => () => void;
  /** Runs once, after the given milliseconds. Returns a function that cancels it. */
  readonly setTimer: (run: () => void, ms: number) => () => void;
  readonly page: PageEnv;
}

/** The state of the page and its network. */
export interface PageEnv {
  /** True in a page. Its sockets have an origin but can't set headers, so they authenticate with tickets. */
  readonly isPage: boolean;
  isOnline(): boolean;
  isHidden(): boolean;
  /** True while the browser has stopped the page, or keeps it in the back/forward cache. */
  isFrozen(): boolean;
  /** Returns true if requests to this address share one connection, as over HTTP/2. If unknown, return false. */
  isMultiplexed(url: string): boolean;
  /** Calls `changed` after each change of `isOnline`, `isHidden` and `isFrozen`. */
  onChange(changed: () => void): () => void;
  /** Calls `changed` when another tab changes an entry of the storage; with null if all entries may have changed. */
  onStorage(changed: (entry: string | null) => void): () => void;
}

export function createEnv(given: Partial<ClientEnv> = {}): ClientEnv {
  return {
    now: Date.now,
    random: Math.random,
    createId: createRandomId,
    fetch: (...args) => globalThis.fetch(...args),
    WebSocket: globalThis.WebSocket,
    storage: findLocalStorage(),
    nextFrame,
    setTimer,
    page: createPageEnv(),
    ...given,
  };
}

function createPageEnv(): PageEnv {
  let isFrozen = false;
  return {
    isPage: typeof location !== "undefined" && typeof location.origin === "string",
    // Node has a `navigator` without `onLine`.
    isOnline: () => typeof navigator === "undefined" || ((navigator as Partial<Navigator>).onLine ?? true),
    isHidden: () => typeof document !== "undefined" && document.visibilityState === "hidden",
    isFrozen: () => isFrozen,
    isMultiplexed(url) {
      if (typeof location === "undefined") return false;
      const { href } = new URL(url, location.href);
      const requests = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
      const protocol = requests.findLast(({ name }) => name.startsWith(href))?.nextHopProtocol ?? "";
      return protocol.startsWith("h2") || protocol.startsWith("h3");
    },
    onChange(changed) {
      const listener = ({ type }: Event): void => {
        if (type === "freeze" || type === "pagehide") isFrozen = true;
        if (type === "resume" || type === "pageshow") isFrozen = false;
        changed();
      };
      const inWindow = ["online", "offline", "pageshow", "pagehide"];
      const inDocument = ["visibilitychange", "freeze", "resume"];
      const page = typeof document === "undefined" ? undefined : document;
      for (const type of inWindow) globalThis.addEventListener?.(type, listener);
      for (const type of inDocument) page?.addEventListener(type, listener);
      return () => {
        for (const type of inWindow) globalThis.removeEventListener?.(type, listener);
        for (const type of inDocument) page?.removeEventListener(type, listener);
      };
    },
    onStorage(changed) {
      const listener = ({ key }: StorageEvent): void => changed(key);
      globalThis.addEventListener?.("storage", listener);
      return () => globalThis.removeEventListener?.("storage", listener);
    },
  };
}

/** `randomUUID` is missing on pages that were not loaded over TLS. */
function createRandomId(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Accessing `localStorage` throws if the page may not store data. */
function findLocalStorage(): ClientEnv["storage"] {
  try {
    return typeof document === "undefined" ? null : globalThis.localStorage;
  } catch {
    return null;
  }
}

/** Uses the next animation frame, or a timer if there is no screen. */
function nextFrame(run: () => void): () => void {
  if (typeof requestAnimationFrame !== "function") return setTimer(run, 0);
  const frame = requestAnimationFrame(run);
  return () => cancelAnimationFrame(frame);
}

function setTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
