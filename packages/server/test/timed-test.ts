/** `TIMED` marks tests that assert a duration on a real clock. Other tests must not use it. */

/** Retries: slow code is slow in every attempt, a stalled machine is not. */
export const TIMED = { retry: 2 };
