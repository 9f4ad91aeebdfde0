/**
 * `fetchSlotMap` asks the servers of a cluster for the slot map, one after the other, until one answers.
 *
 * Invariant: the answer may be out of date. That is safe: a server without the slot replies MOVED, and the log's fence
 * protects appends. It closes every connection that it opens. It throws only LogErrors with UNAVAILABLE.
 */
import { LogError } from "../../errors.ts";
import { addressOf, hostOf } from "../connection/address.ts";
import type { ConnectionOptions } from "../connection/client.ts";
import { RedisConnection, unavailable } from "../connection/connection.ts";
import { withTimeout } from "../connection/with-timeout.ts";
import { parseSlotMap, type SlotMap } from "./slot-map.ts";

/** A server with an open connection, or a URL. */
export type TopologySource = { readonly connection: RedisConnection; readonly host: string } | string;

export type TopologyQueryOptions = Omit<ConnectionOptions, "url"> & { readonly signal: AbortSignal };

/** A server that hangs must not delay the answer for the whole response timeout, because other servers can be asked. */
const MAX_ANSWER_MS = 1_000;

/** @throws LogError with UNAVAILABLE if no server answers. */
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
    ? new LogError("UNAVAILABLE", { detail: "There is no server that could return the slot map" })
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
