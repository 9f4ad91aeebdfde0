/** WebSockets with a man in the middle, or with what a page has and Node hasn't. They stand in place of the global one. */
import { WebSocket as PlainSocket } from "ws";

interface Faults {
  /** What becomes of a frame: how often it arrives. */
  readonly copies?: (frame: { readonly type: string; readonly [field: string]: unknown }) => number;
  /** As a page has it. */
  readonly origin?: string;
  readonly addresses?: string[];
}

export function oddSockets({ copies, origin, addresses }: Faults): typeof WebSocket {
  class OddSocket extends PlainSocket {
    constructor(address: string | URL, options?: unknown) {
      addresses?.push(String(address));
      super(address, { ...(options as object), ...(origin === undefined ? {} : { origin }) });
      // Whoever listens to nothing else would end the process.
      this.on("error", () => {});
    }

    override emit(event: string | symbol, ...args: unknown[]): boolean {
      if (event !== "message" || copies === undefined) return super.emit(event, ...args);
      const times = copies(JSON.parse(String(args[0])) as { type: string });
      for (let n = 0; n < times; n++) super.emit(event, ...args);
      return true;
    }
  }
  return OddSocket as unknown as typeof WebSocket;
}

/** Sockets that never open, as behind a proxy that doesn't know them. */
export function shutSockets(count: { opened: number }): typeof WebSocket {
  class ShutSocket extends EventTarget {
    readonly readyState = 3;
    readonly OPEN = 1;

    constructor() {
      super();
      count.opened += 1;
      setTimeout(() => this.dispatchEvent(new CloseEvent("close", { code: 1006 })), 5);
    }

    close(): void {}
    send(): void {}
  }
  return ShutSocket as unknown as typeof WebSocket;
}
