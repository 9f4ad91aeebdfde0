/** Replacements of the global WebSocket: `oddSockets` drops or repeats frames, `shutSockets` never opens. */
import { WebSocket as PlainSocket } from "ws";

interface Faults {
  /** Returns how often a frame arrives: 0 drops it. */
  readonly copies?: (frame: { readonly type: string; readonly [field: string]: unknown }) => number;
  /** The `Origin` header, which browsers send and Node doesn't. */
  readonly origin?: string;
  readonly addresses?: string[];
}

export function oddSockets({ copies, origin, addresses }: Faults): typeof WebSocket {
  class OddSocket extends PlainSocket {
    constructor(address: string | URL, options?: unknown) {
      addresses?.push(String(address));
      super(address, { ...(options as object), ...(origin === undefined ? {} : { origin }) });
      // Without a listener for errors, Node would terminate the process.
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

/** Returns sockets that never open, as behind a proxy that doesn't support them. */
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
