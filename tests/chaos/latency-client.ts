/** `LatencyClient` measures how long each event takes from `writeTicks` to its socket. */
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { WrittenSession } from "./written-session.ts";

/** Writes titles that contain the time at which they were sent. */
export async function writeTicks(session: WrittenSession, times: number, everyMs: number): Promise<void> {
  const startedAt = performance.now();
  for (let n = 0; n < times; n++) {
    await session.append({ type: "session.update", title: `@${performance.now()}@` });
    const ahead = startedAt + (n + 1) * everyMs - performance.now();
    if (ahead > 0) await sleep(ahead);
  }
}

export class LatencyClient {
  /** How long each title took, in milliseconds. */
  readonly took: number[] = [];
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(data as string));
  }

  static async open({ url, headers }: Endpoint, session: string): Promise<LatencyClient> {
    const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/socket?dialect=native`, {
      headers: { ...headers },
    });
    const client = new LatencyClient(socket);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", () => reject(new Error("a socket was refused")), { once: true });
    });
    const subscribed = new Promise((resolve) => {
      socket.addEventListener("message", resolve, { once: true });
    });
    socket.send(JSON.stringify({ type: "subscribe", session_id: session }));
    await subscribed;
    return client;
  }

  close(): void {
    this.#socket.close();
  }

  #take(text: string): void {
    const from = text.indexOf('"@');
    if (from < 0) return;
    const sent = Number(text.slice(from + 2, text.indexOf("@", from + 2)));
    this.took.push(performance.now() - sent);
  }
}
