/**
 * `ReconnectingClient` follows a session as an app does: whenever its connection is lost, it reconnects to another
 * gateway with its last cursor.
 */
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { ConnectionStart } from "@turnstream/conformance/clients/rendered-state.ts";
import { START_CURSOR } from "@turnstream/protocol";
import { SessionClient, type SessionClientOptions } from "@turnstream/conformance/clients/session-client.ts";

const BACK_MS = 25;
/** How soon a `responses` client reconnects to look for the next turn. */
const NEXT_MS = 200;

export class ReconnectingClient {
  readonly client: SessionClient;
  /** When each connection started, and whether it was resumed. */
  readonly starts: { readonly start: ConnectionStart; readonly at: number }[] = [];
  returns = 0;
  readonly #endpoints: () => readonly Endpoint[];
  #next: number;
  #isDisconnected = false;

  /** @param first the index of the endpoint to use first */
  constructor(
    options: Pick<SessionClientOptions, "session" | "dialect" | "wire">,
    endpoints: () => readonly Endpoint[],
    first: number,
  ) {
    this.#endpoints = endpoints;
    this.#next = first;
    this.client = new SessionClient({
      ...options,
      onFrame: ({ type }) => {
        const start = type === "subscribed" ? this.client.rendered.starts.at(-1) : undefined;
        if (start !== undefined) this.starts.push({ start, at: performance.now() });
      },
      onEnd: ({ type }) => {
        const isOver = type === "ended" && this.#isOfAnswers;
        setTimeout(
          () => {
            if (this.#isDisconnected) return;
            if (!isOver) this.returns++;
            this.#connect();
          },
          isOver ? NEXT_MS : BACK_MS,
        );
      },
    });
    this.#connect();
  }

  leave(): void {
    this.#isDisconnected = true;
    this.client.cut();
  }

  comeBack(): void {
    this.#isDisconnected = false;
    this.#connect();
  }

  get #isOfAnswers(): boolean {
    return this.client.options.dialect === "responses";
  }

  #connect(): void {
    const endpoints = this.#endpoints();
    const endpoint = endpoints[this.#next++ % endpoints.length];
    if (endpoint === undefined) throw new Error("no gateway is left");
    // A `responses` stream ends while no turn runs. Without a cursor, the client reads from the start of the log, so
    // that it doesn't miss the start of a turn.
    this.client.connect(endpoint, this.client.rendered.cursor ?? (this.#isOfAnswers ? START_CURSOR : null));
  }
}
