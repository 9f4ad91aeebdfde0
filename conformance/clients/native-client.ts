/**
 * A client of the events themselves, as PROTOCOL.md tells it: a snapshot, then events, each of which must be the very next.
 * Knows nothing of connections.
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
  /** Where this client resumes. */
  cursor: string | null = null;
  readonly problems: string[] = [];

  /** @param frame as it came, over a socket or, with its `id` put back, as an event stream */
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
