/** Waiting that can be cut short: by a signal, which is an error, or by whoever may wake it. Knows nothing about why. */

/** What a timer of the system takes. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Fulfilled after a while, or when somebody wakes it; throws the signal's reason when that is aborted first.
 * @param register is given how to wake it, and gives back how to forget that; it is forgotten however the wait ends
 */
export function interruptibleSleep(
  ms: number,
  signal: AbortSignal,
  register: (wake: () => void) => () => void = () => () => {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
      forget();
    };
    const wake = (): void => {
      end();
      resolve();
    };
    const leave = (): void => {
      end();
      reject(signal.reason as Error);
    };
    const timer = setTimeout(wake, ms);
    const forget = register(wake);
    signal.addEventListener("abort", leave, { once: true });
  });
}
