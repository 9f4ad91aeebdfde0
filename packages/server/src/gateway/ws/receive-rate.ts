/**
 * `takeBytes` and `refill` limit how fast one socket may send. Pure: a token bucket that is refilled with time.
 * Invariant: a client that has sent nothing for a while can send `burstBytes` at once, which is enough for the largest
 * message. In the long run it sends at most `bytesPerSecond`. Every frame counts as at least `MIN_FRAME_BYTES`, because
 * small frames cost time too.
 */

export interface ReceiveLimits {
  readonly bytesPerSecond: number;
  readonly burstBytes: number;
}

/** What a client may still send. Null stands for a full bucket, so that an idle socket needs no object. */
export type Allowance = { readonly bytes: number; readonly at: number } | null;

/** The processing of an empty frame takes about as long as reading this many bytes. */
export const MIN_FRAME_BYTES = 512;

/** Returns the allowance after receiving `bytes`. It is negative if the client has sent too much. */
export function takeBytes(
  allowance: Allowance,
  bytes: number,
  now: number,
  limits: ReceiveLimits,
): NonNullable<Allowance> {
  return { bytes: refilled(allowance, now, limits) - bytes, at: now };
}

/** Returns the allowance at `now`, without receiving anything. */
export function refill(allowance: Allowance, now: number, limits: ReceiveLimits): Allowance {
  const bytes = refilled(allowance, now, limits);
  return bytes >= limits.burstBytes ? null : { bytes, at: now };
}

function refilled(allowance: Allowance, now: number, { bytesPerSecond, burstBytes }: ReceiveLimits): number {
  if (allowance === null) return burstBytes;
  return Math.min(burstBytes, allowance.bytes + ((now - allowance.at) / 1_000) * bytesPerSecond);
}
