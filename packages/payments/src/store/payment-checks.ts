/**
 * `checkAfterChange` and `nextCheck` decide when a payment is checked: when its provider is asked, and when it expires.
 * Pure; times are arguments.
 *
 * Invariant: a payment that is not final always has a next check, at its expiry time at the latest. Checks back off, so
 * their number is bounded.
 */
import { isFinalPayment, type PaymentFlag, type PaymentStatus } from "./payment-transitions.ts";

/** The longest time between two checks of a payment that is not final. */
const MAX_CHECK_MS = 600_000;
/**
 * A payment that expired while it was `processing` is checked five times more, because the user may have paid and the
 * notification may be lost: after an hour, and then at intervals that double up to this time.
 */
const FIRST_EXPIRED_CHECK_MS = 3_600_000;
const LAST_EXPIRED_CHECK_MS = 86_400_000;

export interface PaymentCheck {
  /** The time until the next check. It doubles with every check. */
  readonly checkMs: number;
  /** Null if the payment is not checked any more. */
  readonly nextCheckAt: number | null;
}

interface CheckedPayment {
  readonly status: PaymentStatus;
  readonly expiresAt: number;
  readonly flag: PaymentFlag | null;
}

/** Returns the check after a payment was changed or a report was recorded. Null leaves the check as it is. */
export function checkAfterChange(
  before: CheckedPayment,
  after: CheckedPayment,
  checkMs: number,
  now: number,
): PaymentCheck | null {
  const stop = { checkMs, nextCheckAt: null };
  if (after.status === before.status) return after.flag === "late_success" ? stop : null;
  if (after.status === "processing")
    return { checkMs, nextCheckAt: Math.min(now + checkMs, after.expiresAt) };
  // Before the checkout was opened, the provider can't know the order.
  if (after.status === "expired" && before.status === "processing")
    return { checkMs: FIRST_EXPIRED_CHECK_MS, nextCheckAt: now + FIRST_EXPIRED_CHECK_MS };
  return isFinalPayment(after.status) ? stop : null;
}

/** Returns the check after a check at `now`. */
export function nextCheck(
  { status, expiresAt, checkMs }: Pick<CheckedPayment, "status" | "expiresAt"> & { readonly checkMs: number },
  now: number,
): PaymentCheck {
  if (isFinalPayment(status)) {
    const doubled = checkMs * 2;
    return { checkMs: doubled, nextCheckAt: doubled > LAST_EXPIRED_CHECK_MS ? null : now + doubled };
  }
  const doubled = Math.min(checkMs * 2, MAX_CHECK_MS);
  const at = now + doubled;
  return { checkMs: doubled, nextCheckAt: expiresAt > now ? Math.min(at, expiresAt) : at };
}
