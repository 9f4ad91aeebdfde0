/**
 * Puts the cursor on the last frame of an event: who is cut off before it gets all the frames of the event again.
 */
export function withCursor<F extends object>(frames: readonly F[], event_id: string): F[] {
  const last = frames.at(-1);
  return last === undefined ? [] : [...frames.slice(0, -1), { ...last, event_id }];
}
