/**
 * `PendingCommands` tracks commands that were sent over a socket until their reply.
 * Invariant: when the socket is lost, all of them reject with UNSURE, because their outcome is unknown.
 */
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

  /** @returns true if the frame is the reply to one of them */
  settle(request: string, frame: Frame): boolean {
    const pending = this.#pending.get(request);
    if (pending === undefined) return false;
    this.#pending.delete(request);
    const { type, request_id: _, ...fields } = frame;
    if (type === "ack") pending.resolve(fields);
    else pending.reject(errorFromBody(fields, { requestId: request }));
    return true;
  }

  rejectAll(): void {
    const error = new ClientError(
      "UNSURE",
      "The connection was lost before the reply. Check whether the command took effect.",
      { canRetry: true },
    );
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
