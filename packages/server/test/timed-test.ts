/** For tests that hold something to a time on a real clock. Never for what doesn't measure time. */

/** Measured again when it was missed: what is slow is slow every time, a machine that stood still isn't. */
export const TIMED = { retry: 2 };
