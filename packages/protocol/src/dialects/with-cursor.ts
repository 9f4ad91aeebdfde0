/**
 * `withCursor` sets the cursor on the last frame of an event. A client that disconnects before it receives all frames
 * of the event again.
 */
export function withCursor<F extends object>(frames: readonly F[], event_id: string): F[] {
  const last = frames.at(-1);
  return last === undefined ? [] : [...frames.slice(0, -1), { ...last, event_id }];
}
