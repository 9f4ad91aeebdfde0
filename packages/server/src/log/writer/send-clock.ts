/**
 * `joinSendClock` lets the writers of a process send their deltas at common moments. The appends of one moment are one
 * write to the connection, and their replies are read together. With many turns, that costs workers and Redis much less
 * than an append at a time.
 *
 * Invariant: a member is called at every tick until it leaves. The timer runs only while there are members.
 */

export interface SendClockMember {
  /** @param now the time of the tick, by `performance.now` */
  onTick(now: number): void;
}

/** How long a delta may wait for the deltas of other turns. */
export const TICK_MS = 10;

const members = new Set<SendClockMember>();
let timer: NodeJS.Timeout | null = null;

export function joinSendClock(member: SendClockMember): void {
  members.add(member);
  timer ??= setTimeout(tick, TICK_MS - (performance.now() % TICK_MS));
}

export function leaveSendClock(member: SendClockMember): void {
  if (!members.delete(member) || members.size > 0 || timer === null) return;
  clearTimeout(timer);
  timer = null;
}

function tick(): void {
  timer = null;
  const now = performance.now();
  for (const member of [...members]) member.onTick(now);
  if (members.size > 0) timer ??= setTimeout(tick, TICK_MS - (performance.now() % TICK_MS));
}
