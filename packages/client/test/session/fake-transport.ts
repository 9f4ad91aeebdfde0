/** A link in the hands of a test: it says what it is told to, and remembers what was asked of it. */
import type { Cursor } from "@turnstream/protocol";
import type { Link, LinkCommand, LinkHandler } from "../../src/transport/transport.ts";

export class FakeLink implements Link {
  handler: LinkHandler | null = null;
  cursor: () => Cursor | null = () => null;
  readonly commands: LinkCommand[] = [];
  watches = 0;
  stops = 0;
  /** With which cursor it was asked to begin again. */
  readonly agains: (Cursor | null)[] = [];

  watch(_session: string, cursor: () => Cursor | null, handler: LinkHandler) {
    this.watches += 1;
    this.cursor = cursor;
    this.handler = handler;
    return {
      again: () => void this.agains.push(cursor()),
      stop: () => {
        this.stops += 1;
        this.handler = null;
      },
    };
  }

  async command(command: LinkCommand): Promise<object> {
    this.commands.push(command);
    return {};
  }

  request(): Promise<Response> {
    return Promise.reject(new Error("nobody is asked"));
  }

  close(): void {}
}
