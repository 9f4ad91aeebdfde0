/**
 * `readRedisStatus` connects to one Redis server once and returns what an operator needs to know about it: whether it
 * can be reached and written to, its version, durability and clock, and what it sees of the connection.
 *
 * Invariant: it never throws, and its texts never contain the password. It writes one key, which expires immediately,
 * because only a write shows that writes are refused.
 */
import { randomUUID } from "node:crypto";
import {
  addressOf,
  createConnectionClient,
  type Durability,
  readDurability,
  withTimeout,
} from "@turnstream/server/internal";
import { measureClock } from "./measure-clock.ts";
import { connectWithSocket, readRedisRoute, type RedisRoute } from "./read-redis-route.ts";

export type RedisStatus =
  | { readonly isReachable: false; readonly problem: string }
  | {
      readonly isReachable: true;
      readonly version: string;
      /** The error with which Redis refuses a write, or null. */
      readonly refusal: string | null;
      readonly durability: Durability;
      /** Null if the server doesn't show which addresses it sees. */
      readonly route: RedisRoute | null;
      /** What the server does when its memory is full, such as `noeviction`; null if it doesn't show it. */
      readonly evictionPolicy: string | null;
      /** How far its clock is ahead of the clock of this machine. */
      readonly clockAheadMs: number;
    };

const TIMEOUT_MS = 3_000;

export async function readRedisStatus(url: string, now: () => number = Date.now): Promise<RedisStatus> {
  const client = createConnectionClient({ url, responseTimeoutMs: TIMEOUT_MS });
  // Without a listener, an error of the connection would end the process.
  client.on("error", () => undefined);
  const ask = async (): Promise<RedisStatus> => {
    const socket = await connectWithSocket(client);
    const clockAheadMs = await measureClock(async () => {
      const [seconds = "0", micros = "0"] = await client.sendCommand<string[]>(["TIME"]);
      return Number(seconds) * 1_000 + Number(micros) / 1_000;
    }, now);
    const info = await client.sendCommand<string>(["INFO", "server"]);
    // Hosted servers often forbid CONFIG. INFO shows the policy too.
    const memory = await client.sendCommand<string>(["INFO", "memory"]).catch(() => "");
    const refusal = await client.set(`ts:probe:${randomUUID()}`, "", { PX: 1 }).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : "unknown error"),
    );
    return {
      isReachable: true,
      version: /(?:valkey|redis)_version:(\S+)/.exec(info)?.[1] ?? "unknown",
      refusal,
      durability: await readDurability(client, url),
      route: await readRedisRoute(client, socket),
      evictionPolicy: /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? null,
      clockAheadMs,
    };
  };
  try {
    return await withTimeout(ask(), { ms: TIMEOUT_MS * 2, message: "No answer", keepAlive: true });
  } catch (error) {
    return { isReachable: false, problem: describe(error, addressOf(url)) };
  } finally {
    client.destroy();
  }
}

function describe(error: unknown, address: string): string {
  const { code = "", message = "" } = (error ?? {}) as { code?: string; message?: string };
  if (code === "ECONNREFUSED") return `Nothing listens at ${address}`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `The host of ${address} is unknown`;
  if (/^(WRONGPASS|NOAUTH)/.test(message)) return `Redis at ${address} refuses the user or password`;
  return `Redis at ${address} doesn't answer${code === "" ? "" : ` (${code})`}`;
}
