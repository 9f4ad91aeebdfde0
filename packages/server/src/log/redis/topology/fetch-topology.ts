/**
 * Asks a cluster which server has which slot: `fetchSlotMap` asks one server after the other until one answers. What it
 * answers may be out of date: a server that no longer has a slot replies MOVED, and the log's fence keeps appends safe.
 */
import { LogError } from "../../errors.ts";
import { addressOf, hostOf } from "../connection/address.ts";
import type { ConnectionOptions } from "../connection/client.ts";
import { RedisConnection, unavailable } from "../connection/connection.ts";
import { withTimeout } from "../connection/with-timeout.ts";
import { parseSlotMap, type SlotMap } from "./slot-map.ts";

/** A server with a connection, or the URL of one. */
export type TopologySource = { readonly connection: RedisConnection; readonly host: string } | string;

export type TopologyQueryOptions = Omit<ConnectionOptions, "url"> & { readonly signal: AbortSignal };

/** There are other servers to ask: one that hangs must not hold up the answer for as long as a command may. */
const MAX_ANSWER_MS = 1_000;

/** Throws UNAVAILABLE when no server answers. */
export async function fetchSlotMap(
  sources: readonly TopologySource[],
  options: TopologyQueryOptions,
): Promise<SlotMap> {
  let firstError: unknown;
  for (const source of sources) {
    if (options.signal.aborted) break;
    try {
      return await (typeof source === "string" ? askUrl(source, options) : ask(source, options));
    } catch (error) {
      firstError ??= error;
    }
  }
  throw firstError === undefined
    ? new LogError("UNAVAILABLE", { detail: "No server to ask" })
    : unavailable(firstError);
}

async function askUrl(url: string, options: TopologyQueryOptions): Promise<SlotMap> {
  const connection = await RedisConnection.open({ ...options, url }, options.signal);
  try {
    return await ask({ connection, host: hostOf(addressOf(url)) }, options);
  } finally {
    connection.destroy();
  }
}

async function ask(
  { connection, host }: Exclude<TopologySource, string>,
  { responseTimeoutMs }: TopologyQueryOptions,
): Promise<SlotMap> {
  const ms = Math.min(responseTimeoutMs, MAX_ANSWER_MS);
  const reply = await withTimeout(connection.send(["CLUSTER", "SLOTS"]), { ms, message: "No answer" });
  return parseSlotMap(reply, host);
}
