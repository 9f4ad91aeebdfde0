/** The time left to a deadline of the server, second by second; nothing before the page has come to life. */
import { useEffect, useState } from "react";
import { useView } from "../hooks/use-session-selector.ts";
import { secondsUntil, toldBetween, untilNextSecond } from "./countdown.ts";

export interface Countdown {
  /** Null without a deadline, and while drawn on a server. */
  readonly seconds: number | null;
  /** 60, 30 or 10, when that is the latest that should be said aloud. */
  readonly told: number | null;
}

const NOT_YET: Countdown = { seconds: null, told: null };

/** @param deadline by the server's clock, in milliseconds; null for none */
export function useCountdown(deadline: number | null, now: () => number = Date.now): Countdown {
  const skewMs = useView((view) => view.skewMs);
  const [countdown, setCountdown] = useState(NOT_YET);
  useEffect(() => {
    if (deadline === null) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const tick = (): void => {
      const seconds = secondsUntil(deadline, now(), skewMs);
      setCountdown((before) => ({ seconds, told: toldBetween(before.seconds, seconds) ?? before.told }));
      if (seconds > 0) timer = setTimeout(tick, untilNextSecond(deadline, now(), skewMs) + 5);
    };
    tick();
    return () => clearTimeout(timer);
  }, [deadline, skewMs, now]);
  return deadline === null ? NOT_YET : countdown;
}
