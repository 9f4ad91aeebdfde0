/** The time left to a deadline of the server, second by second; nothing before the page has come to life. */
import { useEffect, useState } from "react";
import { useSessionSelector } from "../hooks/use-session-selector.ts";

export interface Countdown {
  /** Null without a deadline, and while drawn on a server. */
  readonly seconds: number | null;
  /** 60, 30 or 10, when that is the latest that should be said aloud. */
  readonly announcedSeconds: number | null;
}

const NO_COUNTDOWN: Countdown = { seconds: null, announcedSeconds: null };

/** @param deadline by the server's clock, in milliseconds; null for none */
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

/** How long there is until a deadline of the server, by a clock that may be wrong. Pure. */
/** Whole seconds, rounded up, so that 0 means over. */
export function secondsUntil(deadline: number, now: number, skewMs: number): number {
  return Math.max(0, Math.ceil((deadline - now - skewMs) / 1000));
}

/** Until the shown number changes next. */
export function msUntilNextSecond(deadline: number, now: number, skewMs: number): number {
  const left = deadline - now - skewMs;
  return left <= 0 ? 0 : left - (Math.ceil(left / 1000) - 1) * 1000;
}

/** When a screen reader is told: never every second. */
const ANNOUNCED_SECONDS = [10, 30, 60] as const;

/** What has just been passed, if anything; nothing when a card opens with less than that. */
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
