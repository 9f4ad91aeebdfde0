/**
 * `joinSockets` connects a client to a server through the proxy: two sockets, and a queue for each direction. Does not
 * decide on faults; it asks the proxy for each chunk.
 */
import type { Socket } from "node:net";

/** `toServer`: bytes from the client. `toClient`: bytes from the server. */
export type Direction = "toServer" | "toClient";

export interface Faults {
  readonly delayMs: number;
  isBlackholed(direction: Direction): boolean;
  /** Returns how much of a chunk of `size` bytes may pass, and whether the connection is cut right after. */
  take(direction: Direction, size: number): { pass: number; cut: boolean };
}

interface Piece {
  dueAt: number;
  /** Null marks the end of this direction. */
  bytes: Buffer | null;
}

export interface Connection {
  /** True if bytes were dropped. TCP has no gaps, so the connection can never continue. */
  readonly hasHole: boolean;
  /** Keeps all further bytes, also those of a side that closes its socket meanwhile. */
  hold(): void;
  /** Delivers the kept bytes, and then the end if a side has closed its socket. */
  release(): void;
  destroy(): void;
}

/** Forwards bytes from one socket to the other in order, each chunk after its delay. */
class Pipe {
  hasHole = false;
  readonly #direction: Direction;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #faults: Faults;
  readonly #queue: Piece[] = [];
  #isHeld = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(direction: Direction, from: Socket, to: Socket, faults: Faults) {
    this.#direction = direction;
    this.#from = from;
    this.#to = to;
    this.#faults = faults;
    from.on("data", (bytes) => this.#add(bytes));
    from.on("end", () => this.#add(null));
    to.on("drain", () => from.resume());
  }

  get #isBlackholed(): boolean {
    return this.#faults.isBlackholed(this.#direction);
  }

  /**
   * Marks the end of a direction as dropped in a blackhole, so that the other side doesn't learn of it. @returns true
   * if bytes or the end were dropped
   */
  lostItsEnd(): boolean {
    if (this.#isBlackholed) this.hasHole = true;
    return this.hasHole;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    if (!isHeld) this.#pump();
  }

  /** The sender is gone, and the receiver learns it after the bytes that are kept for it. */
  endLater(): void {
    this.#add(null);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
  }

  #add(bytes: Buffer | null): void {
    this.#queue.push({ dueAt: performance.now() + this.#faults.delayMs, bytes });
    if (this.#queue.length === 1) this.#pump();
  }

  #pump(): void {
    for (;;) {
      const [piece] = this.#queue;
      if (piece === undefined || this.#isHeld) return;
      const wait = piece.dueAt - performance.now();
      if (wait > 0) {
        this.#timer = setTimeout(() => this.#pump(), Math.ceil(wait));
        return;
      }
      this.#queue.shift();
      this.#pass(piece.bytes);
    }
  }

  #pass(bytes: Buffer | null): void {
    // Bytes after a gap are dropped too, even when the link works again.
    if (this.hasHole || this.#isBlackholed) {
      this.hasHole = true;
      return;
    }
    if (this.#to.destroyed) return;
    if (bytes === null) {
      this.#to.end();
      return;
    }
    const { pass, cut } = this.#faults.take(this.#direction, bytes.length);
    const isFull = pass > 0 && !this.#to.write(bytes.subarray(0, pass));
    if (cut) {
      this.clear();
      // The receiver gets exactly its bytes before the end. The sender notices the cut immediately.
      this.#to.destroySoon();
      reset(this.#from);
    } else if (isFull) {
      this.#from.pause();
    }
  }
}

/** Node can't reset a socket that has ended its side: it would stay open forever and keep Node alive. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

export function joinSockets(client: Socket, server: Socket, faults: Faults, onClose: () => void): Connection {
  const up = new Pipe("toServer", client, server, faults);
  const down = new Pipe("toClient", server, client, faults);
  let open = 2;

  function follow(socket: Socket, pipe: Pipe, other: Socket): void {
    socket.setNoDelay(true);
    // `close` follows and handles it.
    socket.on("error", () => undefined);
    socket.on("close", (hadError) => {
      open -= 1;
      if (open === 0) {
        up.clear();
        down.clear();
        onClose();
      }
      if (other.destroyed || pipe.lostItsEnd()) return;
      if (pipe.isHeld) pipe.endLater();
      else if (hadError) reset(other);
    });
  }
  follow(client, up, server);
  follow(server, down, client);

  return {
    get hasHole() {
      return up.hasHole || down.hasHole;
    },
    hold() {
      up.isHeld = true;
      down.isHeld = true;
    },
    release() {
      up.isHeld = false;
      down.isHeld = false;
    },
    destroy() {
      up.clear();
      down.clear();
      reset(client);
      reset(server);
    },
  };
}
