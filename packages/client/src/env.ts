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
  onChange(changed: () => void): () => void;
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
    page: browserPageEnv,
    ...given,
  };
}

const browserPageEnv: PageEnv = {
  isPage: typeof location !== "undefined" && typeof location.origin === "string",
  // Node has a `navigator` without `onLine`.
  isOnline: () => typeof navigator === "undefined" || ((navigator as Partial<Navigator>).onLine ?? true),
  isHidden: () => typeof document !== "undefined" && document.visibilityState === "hidden",
  onChange(changed) {
    const inWindow = ["online", "offline", "pageshow"];
    for (const type of inWindow) globalThis.addEventListener?.(type, changed);
    if (typeof document !== "undefined") document.addEventListener("visibilitychange", changed);
    return () => {
      for (const type of inWindow) globalThis.removeEventListener?.(type, changed);
      if (typeof document !== "undefined") document.removeEventListener("visibilitychange", changed);
    };
  },
};

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
