/** The surroundings as they are, in browsers, workers and Node: what a client uses unless told. */
import type { ClientEnv, Outside } from "./options.ts";

export function surroundings(given: Partial<ClientEnv> = {}): ClientEnv {
  return {
    now: Date.now,
    random: Math.random,
    id: randomId,
    fetch: (...args) => globalThis.fetch(...args),
    WebSocket: globalThis.WebSocket,
    storage: localStorageIfAny(),
    nextFrame,
    setTimer,
    outside,
    ...given,
  };
}

const outside: Outside = {
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
function randomId(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Asking for it is an error where a page may keep nothing. */
function localStorageIfAny(): ClientEnv["storage"] {
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
