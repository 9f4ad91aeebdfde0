/** Floods a gateway and measures its memory (promise 21): refused requests leave nothing behind. */
import { Agent, request } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { SocketClient } from "../clients.ts";
import { openServer, type TestServer } from "../test-server.ts";

const ROUNDS = 4;
const REQUESTS = 400;
const UPGRADES = 100;
const COMMANDS = 300;
/** What a round may add, although it refuses a thousand requests: less than 1 kB for each. */
const MAX_GROWTH_PER_ROUND = 1_000_000;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function countRefusals(statuses: readonly number[]): number {
  return statuses.filter((status) => status === 429).length;
}

class Flood {
  readonly #server: TestServer;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  #addresses = 0;

  constructor(server: TestServer) {
    this.#server = server;
  }

  /** Requests of a user beyond the limit. */
  requests(): Promise<number[]> {
    return this.#all(REQUESTS, () => this.#get({ ...this.#server.auth }));
  }

  /** Guessed keys, from another address every third time. */
  guesses(): Promise<number[]> {
    return this.#all(REQUESTS, (n) => {
      if (n % 3 === 0) this.#addresses++;
      const from = `10.${(this.#addresses >> 16) & 255}.${(this.#addresses >> 8) & 255}.${this.#addresses & 255}`;
      return this.#get({ "x-api-key": `guess-${n}`, "x-user-id": "an", "x-forwarded-for": from });
    });
  }

  upgrades(): Promise<number[]> {
    return this.#all(UPGRADES, () => {
      const url = `${this.#server.url.replace("http", "ws")}/api/v1/socket`;
      const socket = new WebSocket(url, { headers: { ...this.#server.auth } });
      return new Promise<number>((resolve) => {
        socket.on("error", () => undefined);
        socket.on("unexpected-response", (_, response) => {
          resolve(response.statusCode ?? 0);
          response.destroy();
        });
      });
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  async #all(count: number, work: (n: number) => Promise<number>): Promise<number[]> {
    const statuses: number[] = [];
    for (let n = 0; n < count; n += 8)
      statuses.push(...(await Promise.all(Array.from({ length: 8 }, (_, k) => work(n + k)))));
    return statuses;
  }

  #get(headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      const options = { agent: this.#agent, headers };
      request(`${this.#server.url}/api/v1/limits`, options, (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      })
        .on("error", reject)
        .end();
    });
  }
}

test(
  "floods of requests, sign-ins, sockets and commands are refused, and memory stays flat",
  { timeout: 60_000 },
  async () => {
    const server = await openServer(undefined, {
      trustProxy: true,
      callerLimits: {
        user: { requestsPerMinute: 20, sockets: 1 },
        address: { failedSignInsPerMinute: 1 },
      },
    });
    const flood = new Flood(server);
    const levels: number[] = [];
    const client = await SocketClient.open(server);
    for (let round = 0; round < ROUNDS; round++) {
      expect(countRefusals(await flood.requests())).toBeGreaterThan(REQUESTS - 21);
      expect(countRefusals(await flood.guesses())).toBeGreaterThan(REQUESTS / 2);
      expect(countRefusals(await flood.upgrades())).toBeGreaterThanOrEqual(UPGRADES);
      if (client.end === null)
        for (let n = 0; n < COMMANDS; n++) client.socket.send(JSON.stringify({ type: "ping" }));
      collect();
      levels.push(process.memoryUsage().heapUsed);
    }
    await vi.waitUntil(() => client.end !== null, { timeout: 10_000 });
    flood.close();
    await server.close();
    const growth = ((levels.at(-1) ?? 0) - (levels[0] ?? 0)) / (ROUNDS - 1);
    console.info(
      `heap after each round: ${levels.map((level) => `${(level / 1e6).toFixed(1)} MB`).join(", ")}`,
    );
    expect(growth).toBeLessThan(MAX_GROWTH_PER_ROUND);
  },
);
