/**
 * `ConnectionBanner` shows the connection status and a retry button.
 * Invariant: it shows nothing while the connection is live, during an interruption of less than a second, or while a page
 * that was hidden connects again. The button appears only while the connection waits or is closed. Texts come from the
 * strings, never from the error alone. While the running turn can't continue, the banner announces that it will, or that
 * no worker runs. It also announces that the server has lost turns.
 */
import type { ConnectionView } from "@turnstream/client";
import { type ReactNode, useEffect, useState } from "react";
import { useThreadContext } from "../context.ts";
import { formatNumber } from "../format.ts";
import { useConnection, useSessionSelector } from "../hooks/use-session-selector.ts";
import { errorText } from "../error-text.ts";
import type { ThreadStrings } from "../strings/thread.ts";
import { usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { Button } from "../ui/button.tsx";

/** Most interruptions end before this. */
const SHOW_AFTER_MS = 1_000;
/** A page that was hidden may first have to wake the network of a phone. */
const SHOW_AFTER_RETURN_MS = 5_000;

export function ConnectionBanner(): ReactNode {
  const { session } = useThreadContext();
  const strings = useStrings();
  const connection = useConnection();
  const isLate = useIsDelayed(connection.phase !== "live" && connection.phase !== "hidden");
  const now = useNow(isLate && connection.retryAt !== null);
  const isRunning = useSessionSelector(({ state }) => state.turns.last()?.status === "running");
  const hasLostTurns = useSessionSelector((view) => view.hasLostTurns);
  const root = usePart("connection-banner", "ts-banner");
  const { stalled } = connection;
  const isStalled = stalled === "no_worker" || (stalled !== null && isRunning);
  if (isStalled || (connection.phase === "live" && hasLostTurns)) {
    const { resuming, noWorker, lostTurns } = strings.thread;
    return (
      <div {...root} data-phase={isStalled ? stalled : "lost"} role="status">
        <span className="ts-dot" data-dot={isStalled ? "pending" : "error"} />
        <span className="ts-banner-text">
          {isStalled ? (stalled === "resuming" ? resuming : noWorker) : lostTurns}
        </span>
      </div>
    );
  }
  if (!isLate) return null;
  const canTry = connection.phase === "waiting" || connection.phase === "closed";
  return (
    <div {...root} data-phase={connection.phase}>
      <span className="ts-dot" data-dot={connection.phase === "closed" ? "error" : "pending"} />
      <span className="ts-banner-text">{connectionText(strings, connection, now)}</span>
      {canTry && (
        <Button className="ts-link" onClick={() => void session.refresh().catch(() => {})}>
          {strings.thread.connection.retryNow}
        </Button>
      )}
    </div>
  );
}

function connectionText(
  strings: ThreadStrings,
  { phase, retryAt, error }: ConnectionView,
  now: number | null,
): string {
  const threadStrings = strings.thread.connection;
  if (phase === "live" || phase === "hidden") return "";
  if (phase === "closed")
    return error === null ? threadStrings.closed : `${threadStrings.closed} ${errorText(strings, error)}`;
  if (phase !== "waiting" || retryAt === null || now === null) return threadStrings[phase];
  const seconds = Math.ceil((retryAt - now) / 1000);
  return seconds > 0 ? threadStrings.waitingFor(formatNumber(strings, seconds)) : threadStrings.waiting;
}

/** Returns true after the condition has been true for a while, and the page visible. */
function useIsDelayed(isSo: boolean): boolean {
  const [isLate, setLate] = useState(false);
  // A page that returns starts to connect before this component learns of it.
  const returnedAt = useReturnTime();
  useEffect(() => {
    setLate(false);
    if (!isSo) return undefined;
    const left = returnedAt === null ? 0 : returnedAt + SHOW_AFTER_RETURN_MS - performance.now();
    const timer = setTimeout(() => setLate(true), Math.max(SHOW_AFTER_MS, left));
    return () => clearTimeout(timer);
  }, [isSo, returnedAt]);
  return isSo && isLate;
}

/** Returns when the page was last shown again, by the monotonic clock; null before that. */
function useReturnTime(): number | null {
  const [returnedAt, setReturnedAt] = useState<number | null>(null);
  useEffect(() => {
    const onChange = (): void => {
      if (document.visibilityState !== "hidden") setReturnedAt(performance.now());
    };
    document.addEventListener("visibilitychange", onChange);
    return () => document.removeEventListener("visibilitychange", onChange);
  }, []);
  return returnedAt;
}

/** Returns this machine's time, updated every second; null before the first update. */
function useNow(isOn: boolean): number | null {
  const [now, setNow] = useState<number | null>(null);
  useEffect(() => {
    if (!isOn) return undefined;
    const look = (): void => setNow(Date.now());
    look();
    const timer = setInterval(look, 1_000);
    return () => clearInterval(timer);
  }, [isOn]);
  return isOn ? now : null;
}
