/** Commands that were sent over a socket and wait for their answer. When the socket is lost, nobody knows how they went. */
import { ClientError } from "../errors.ts";
import { errorFromBody } from "../http/error-response.ts";
import type { Transport } from "./transport.ts";
import type { Frame } from "./channel.ts";

type Ack = Awaited<ReturnType<Transport["command"]>>;

interface Pending {
  readonly resolve: (ack: Ack) => void;
  readonly reject: (error: ClientError) => void;
}

export class PendingCommands {
  readonly #pending = new Map<string, Pending>();

  add(request: string, send: () => void): Promise<Ack> {
    return new Promise((resolve, reject) => {
      this.#pending.set(request, { resolve, reject });
      send();
    });
  }

  /** @returns whether the frame is the answer to one of them */
  settle(request: string, frame: Frame): boolean {
    const pending = this.#pending.get(request);
    if (pending === undefined) return false;
    this.#pending.delete(request);
    const { type, request_id: _, ...fields } = frame;
    if (type === "ack") pending.resolve(fields);
    else pending.reject(errorFromBody(fields));
    return true;
  }

  rejectAll(): void {
    const error = new ClientError(
      "UNSURE",
      "The connection was lost before the answer. Look whether it was done.",
      { canRetry: true },
    );
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
