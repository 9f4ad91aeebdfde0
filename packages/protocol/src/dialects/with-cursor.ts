/**
 * `withCursor` sets the cursor on the last frame of an event, and on no other.
 * Invariant: a client that disconnects between the frames of an event resumes before it and receives all of them again.
 */
export function withCursor<F extends object>(frames: readonly F[], event_id: string): F[] {
  const last = frames.at(-1);
  return last === undefined ? [] : [...frames.slice(0, -1), { ...last, event_id }];
}
