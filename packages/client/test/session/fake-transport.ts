/** `FakeTransport` is a transport that the test controls through `handler`. It records subscriptions and commands. */
import type { Cursor } from "@turnstream/protocol";
import type { Transport, TransportCommand, SubscriptionHandler } from "../../src/transport/transport.ts";

export class FakeTransport implements Transport {
  handler: SubscriptionHandler | null = null;
  cursor: () => Cursor | null = () => null;
  readonly commands: TransportCommand[] = [];
  subscribes = 0;
  unsubscribes = 0;
  /** The cursor of each resync. */
  readonly resyncs: (Cursor | null)[] = [];

  subscribe(_session: string, cursor: () => Cursor | null, handler: SubscriptionHandler) {
    this.subscribes += 1;
    this.cursor = cursor;
    this.handler = handler;
    return {
      resync: () => void this.resyncs.push(cursor()),
      unsubscribe: () => {
        this.unsubscribes += 1;
        this.handler = null;
      },
    };
  }

  async command(command: TransportCommand): Promise<object> {
    this.commands.push(command);
    return {};
  }

  onActivity(): void {}

  close(): void {}
}
