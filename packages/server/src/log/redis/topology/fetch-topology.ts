/**
 * Asks servers of a cluster who keeps what: those we are connected to, and the ones we were given at the start
 * when too few are left. Waits for the first answer, and a moment for others. Believes nobody (`slot-map.ts` does).
 */
import { LogError } from "../../errors.ts";
import { addressOf, hostOf } from "../connection/address.ts";
import type { ConnectionOptions } from "../connection/client.ts";
import { RedisConnection, unavailable } from "../connection/connection.ts";
import { parseTopologyView, type TopologyView } from "./slot-map.ts";
import { sleep } from "../../../util/sleep.ts";
import { withTimeout } from "../connection/with-timeout.ts";

export interface TopologyQuery {
  readonly links: readonly { readonly link: RedisConnection; readonly host: string }[];
  /** How many servers there are, the ones included that we are not connected to. */
  readonly of: number;
  /** Rises: where there are too many to ask all, others are asked the next time. */
  readonly turn: number;
}

export type TopologyQueryOptions = Omit<ConnectionOptions, "url"> & { readonly signal: AbortSignal };

const AT_MOST = 16;
const GRACE_MS = 300;

/** At least one, or it throws. */
export async function fetchTopologies(
  { links, of, turn }: TopologyQuery,
  seeds: readonly string[],
  options: TopologyQueryOptions,
): Promise<TopologyView[]> {
  const start = links.length > AT_MOST ? (turn * AT_MOST) % links.length : 0;
  const some = [...links.slice(start), ...links.slice(0, start)].slice(0, AT_MOST);
  const work = some.map(({ link, host }) => ask(link, host, options.patienceMs));
  // Those few may be the ones that are cut off from the others.
  const areFew = links.length * 2 <= of;
  if (areFew) work.push(...askSeeds(seeds, options));
  try {
    return await answers(work, options.signal);
  } catch (error) {
    if (areFew) throw error;
    return await answers(askSeeds(seeds, options), options.signal);
  }
}

function askSeeds(seeds: readonly string[], options: TopologyQueryOptions): Promise<TopologyView>[] {
  return seeds.map((url) => askAt(url, options));
}

async function askAt(url: string, options: TopologyQueryOptions): Promise<TopologyView> {
  const link = await RedisConnection.open({ ...options, url }, options.signal);
  try {
    return await ask(link, hostOf(addressOf(url)), options.patienceMs);
  } finally {
    link.destroy();
  }
}

async function ask(link: RedisConnection, host: string, patienceMs: number): Promise<TopologyView> {
  const asked = Promise.all([
    link.send(["CLUSTER", "SLOTS"]),
    // It only helps where servers disagree; who may not ask it does without.
    link.send(["CLUSTER", "NODES"]).catch(() => null),
  ]);
  const [slots, nodes] = await withTimeout(asked, { ms: patienceMs, message: "No answer" });
  return parseTopologyView(slots, nodes, host);
}

/** What came until a moment after the first one; throws when none did. */
async function answers(work: readonly Promise<TopologyView>[], signal: AbortSignal): Promise<TopologyView[]> {
  const views: TopologyView[] = [];
  const all = Promise.allSettled(work.map(async (view) => views.push(await view)));
  try {
    await Promise.any(work);
  } catch (error) {
    const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
    throw first === undefined
      ? new LogError("UNAVAILABLE", { detail: "No server to ask" })
      : unavailable(first);
  }
  const enough = new AbortController();
  await Promise.race([
    all,
    sleep(GRACE_MS, { signal: AbortSignal.any([signal, enough.signal]), unref: true }).catch(() => undefined),
  ]);
  enough.abort();
  return [...views];
}
