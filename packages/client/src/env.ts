/** What a client uses of its environment, and its defaults in browsers, workers and Node. */
/** What tests, servers and odd browsers put in place of what is global. */
export interface ClientEnv {
  readonly now: () => number;
  readonly random: () => number;
  readonly createId: () => string;
  readonly fetch: typeof fetch;
  readonly WebSocket: typeof WebSocket;
  /** Keeps what is not sent over a reload; null: kept only while the page lives. */
  readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length"> | null;
  /** When the next frame is drawn; where nothing is drawn, soon. Returns how to take it back. */
  readonly nextFrame: (run: () => void) => () => void;
  /** Once, after that many milliseconds. Returns how to take it back. */
  readonly setTimer: (run: () => void, ms: number) => () => void;
  readonly page: PageEnv;
}

/** What a page knows of the machine and of who looks. */
export interface PageEnv {
  /** Whether this is a page: its sockets have an origin and no headers, so they are let in by tickets. */
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
  // Node has a navigator that doesn't know.
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

/** Pages that were not loaded over TLS have no `randomUUID`. */
function createRandomId(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Asking for it is an error where a page may keep nothing. */
function findLocalStorage(): ClientEnv["storage"] {
  try {
    return typeof document === "undefined" ? null : globalThis.localStorage;
  } catch {
    return null;
  }
}

/** Draws come with the screen; where there is none, soon. */
function nextFrame(run: () => void): () => void {
  if (typeof requestAnimationFrame !== "function") return setTimer(run, 0);
  const frame = requestAnimationFrame(run);
  return () => cancelAnimationFrame(frame);
}

function setTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
