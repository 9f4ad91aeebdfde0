/**
 * One connection through the proxy: two sockets, and a queue for each direction. Never decides which fault
 * there is; it asks the proxy for each piece.
 */
import type { Socket } from "node:net";

/** `toServer`: what the client sends. `toClient`: what the server answers. */
export type Direction = "toServer" | "toClient";

export interface Faults {
  readonly delayMs: number;
  isBlackholed(direction: Direction): boolean;
  /** How much of a piece of `size` bytes may pass, and whether the connection is cut right after. */
  take(direction: Direction, size: number): { pass: number; cut: boolean };
}

interface Piece {
  dueAt: number;
  /** Null: the end of what this side sends. */
  bytes: Buffer | null;
}

export interface Connection {
  /** Something of it was swallowed, so that it can never go on: TCP has no holes. */
  readonly hasHole: boolean;
  destroy(): void;
}

/** What comes from one side and goes to the other, in order, each piece after its delay. */
class Pipe {
  hasHole = false;
  readonly #direction: Direction;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #faults: Faults;
  readonly #queue: Piece[] = [];
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

  /** The other side must not learn of it either. */
  lostItsEnd(): boolean {
    if (this.#isBlackholed) this.hasHole = true;
    return this.hasHole;
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
      if (piece === undefined) return;
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
    // What comes after a hole is lost too, even when the way is open again.
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
      // The one gets exactly its bytes before the end; the other learns of the cut at once.
      this.#to.destroySoon();
      reset(this.#from);
    } else if (isFull) {
      this.#from.pause();
    }
  }
}

/** Of a socket that has said its end Node can't make a reset: it would stay open for ever, and Node with it. */
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
    // Its `close` comes next.
    socket.on("error", () => undefined);
    socket.on("close", (hadError) => {
      open -= 1;
      if (open === 0) {
        up.clear();
        down.clear();
        onClose();
      }
      if (!hadError || other.destroyed || pipe.lostItsEnd()) return;
      reset(other);
    });
  }
  follow(client, up, server);
  follow(server, down, client);

  return {
    get hasHole() {
      return up.hasHole || down.hasHole;
    },
    destroy() {
      up.clear();
      down.clear();
      reset(client);
      reset(server);
    },
  };
}
