/** The memory engine, with the faults that a Redis has. */
import { retainLog, lastPosition, MemoryEngine } from "../../src/log/memory.ts";

export class RehearsedEngine extends MemoryEngine {
  /** What a failover does to a Redis: the newest entries of a log may be gone, and the log has to be claimed anew. */
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

  /** What FLUSHALL does. */
  wipe(): void {
    for (const stream of this.streams.values()) retainLog(stream);
    this.streams.clear();
    for (const session of this.listeners.keys()) this.notify(session, { type: "possible-gap" });
  }
}
