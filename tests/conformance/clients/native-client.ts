/**
 * `NativeClient` follows the native dialect as PROTOCOL.md describes it: a snapshot, then events. It records a problem
 * for each event that is not directly the next one. Does not open connections.
 */
import {
  emptyState,
  type SessionEvent,
  fold,
  classifyEvent,
  restore,
  type SessionState,
  type Snapshot,
  snapshot,
} from "@turnstream/protocol";

type Data = Record<string, unknown>;

export class NativeClient {
  state: SessionState = emptyState;
  /** The cursor to resume from. */
  cursor: string | null = null;
  readonly problems: string[] = [];

  /** @param frame as received over a socket, or from an event stream with its `id` added */
  handle(frame: Data): void {
    if (frame["type"] === "snapshot") {
      this.state = restore(frame["snapshot"] as Snapshot);
      this.cursor = frame["event_id"] as string;
      return;
    }
    const { session_id: _, ...own } = frame;
    const event = own as unknown as SessionEvent;
    const place = classifyEvent(this.state, event);
    if (place !== "next") this.problems.push(`${event.type} ${event.id} is ${place}`);
    this.state = fold(this.state, event);
    this.cursor = event.id;
  }

  display(): unknown {
    return JSON.parse(JSON.stringify(snapshot(this.state)));
  }
}
