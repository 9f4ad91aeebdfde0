/** `RehearsedEngine` is the memory engine with the faults of a Redis: failover and data loss. */
import { comparePositions, type Position } from "@turnstream/protocol";
import { retainLog, lastPosition, MemoryEngine } from "../../src/log/memory.ts";

export class RehearsedEngine extends MemoryEngine {
  /** Simulates a Redis failover: the newest entries of a log can be lost, and a writer must claim the log again. */
  failOver(lose: Readonly<Record<string, number>>): void {
    this.timeline++;
    for (const [session, count] of Object.entries(lose)) {
      const stream = this.streams.get(session);
      if (stream === undefined || count === 0) continue;
      stream.entries = stream.entries.slice(0, -count);
      stream.epoch = lastPosition(stream).epoch;
    }
    for (const session of this.listeners.keys()) this.notify(session, { type: "possible-gap" });
  }

  /** Simulates the expiry of a log: without a notification, and only if the log ends at the archived position. */
  expireNow(session: string, archived: Position): void {
    const stream = this.streams.get(session);
    if (stream === undefined || comparePositions(lastPosition(stream), archived) !== 0) return;
    retainLog(stream);
    this.streams.delete(session);
  }

  /** Simulates FLUSHALL. */
  wipe(): void {
    for (const stream of this.streams.values()) retainLog(stream);
    this.streams.clear();
    for (const session of this.listeners.keys()) this.notify(session, { type: "possible-gap" });
  }
}
