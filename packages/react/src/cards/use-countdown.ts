/**
 * `useCountdown` counts the seconds to a deadline of the server.
 * Invariant: the machine's clock is corrected by the skew of the session. It returns null until the page is hydrated,
 * so that both first renders are equal. Only 60, 30 and 10 seconds are announced. It decides nothing: the server ends
 * the interaction.
 */
import { useEffect, useState } from "react";
import { useSessionSelector } from "../hooks/use-session-selector.ts";

export interface Countdown {
  /** Null without a deadline, and during server rendering. */
  readonly seconds: number | null;
  /** 60, 30 or 10: the last threshold that was passed and should be announced. */
  readonly announcedSeconds: number | null;
}

const NO_COUNTDOWN: Countdown = { seconds: null, announcedSeconds: null };

/** @param deadline in milliseconds by the server's clock; null for none */
export function useCountdown(deadline: number | null, now: () => number = Date.now): Countdown {
  const skewMs = useSessionSelector((view) => view.skewMs);
  const [countdown, setCountdown] = useState(NO_COUNTDOWN);
  useEffect(() => {
    if (deadline === null) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const tick = (): void => {
      const seconds = secondsUntil(deadline, now(), skewMs);
      setCountdown((before) => ({
        seconds,
        announcedSeconds: announcedBetween(before.seconds, seconds) ?? before.announcedSeconds,
      }));
      if (seconds > 0) timer = setTimeout(tick, msUntilNextSecond(deadline, now(), skewMs) + 5);
    };
    tick();
    return () => clearTimeout(timer);
  }, [deadline, skewMs, now]);
  return deadline === null ? NO_COUNTDOWN : countdown;
}

/** Returns whole seconds, rounded up, so that 0 means that the deadline has passed. */
export function secondsUntil(deadline: number, now: number, skewMs: number): number {
  return Math.max(0, Math.ceil((deadline - now - skewMs) / 1000));
}

/** Returns the milliseconds until the shown number changes. */
export function msUntilNextSecond(deadline: number, now: number, skewMs: number): number {
  const left = deadline - now - skewMs;
  return left <= 0 ? 0 : left - (Math.ceil(left / 1000) - 1) * 1000;
}

/** Thresholds that a screen reader announces, instead of every second. */
const ANNOUNCED_SECONDS = [10, 30, 60] as const;

/** Returns the threshold that was just passed, if any. A card that opens below a threshold doesn't announce it. */
export function announcedBetween(before: number | null, after: number): number | null {
  if (before === null) return null;
  return ANNOUNCED_SECONDS.find((at) => after <= at && before > at && after > 0) ?? null;
}

/** `4:07`, `1:02:03` */
export function formatClock(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours === 0
    ? `${minutes}:${padTwo(seconds % 60)}`
    : `${hours}:${padTwo(minutes)}:${padTwo(seconds % 60)}`;
}

function padTwo(n: number): string {
  return String(n).padStart(2, "0");
}
