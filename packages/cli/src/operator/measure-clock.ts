/**
 * `measureClock` returns how far the clock of a server is ahead of the clock of this machine, in milliseconds.
 * Invariant: of several tries, the one with the shortest round trip counts. The error is at most half a round trip, and
 * a process that stands still during one try doesn't look like a wrong clock.
 */
const TRIES = 5;

/** @param readClock returns the time of the server in milliseconds */
export async function measureClock(readClock: () => Promise<number>, now: () => number): Promise<number> {
  let best = { roundTripMs: Infinity, aheadMs: 0 };
  for (let n = 0; n < TRIES; n++) {
    const sentAt = now();
    const serverTime = await readClock();
    const receivedAt = now();
    const roundTripMs = receivedAt - sentAt;
    if (roundTripMs < best.roundTripMs)
      best = { roundTripMs, aheadMs: Math.round(serverTime - (sentAt + receivedAt) / 2) };
  }
  return best.aheadMs;
}
