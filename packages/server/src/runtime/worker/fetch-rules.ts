/**
 * `batchSize`, `crowdingTenants` and `fetchDelayMs` decide how many jobs a worker fetches, whose, and when. Pure.
 *
 * Invariant: a tenant can't take the last tenth of a worker's slots while it uses the others, so a turn of another tenant
 * starts at once. Workers with more load fetch later and in small batches, so that jobs spread evenly.
 */

const MAX_BATCH = 8;
/** The fraction of free slots in a batch. */
const BATCH_SHARE = 1 / 8;
/** How many jobs more than others a worker may fetch, and the fraction of its own jobs that is added. */
const MIN_LEAD = 2;
const LEAD_SHARE = 0.1;
/** A tenant may use this many slots for each slot that stays free. */
const SLOTS_PER_FREE_SLOT = 9;
/** Spreads fetches of workers that are woken at the same time. */
const JITTER_MS = 4;
const SPREAD_JITTER_MS = 15;
const DELAY_PER_JOB_MS = 10;
const MAX_DELAY_MS = 100;

/** Slots as numbers of jobs. */
export interface Load {
  /** At least 1. */
  readonly free: number;
  readonly running: number;
  /** How many jobs the worker with the least load of the others runs; null if no other one has free slots. */
  readonly least: number | null;
}

/** Returns how many jobs to fetch. A worker that others have caught up with takes few more than they have. */
export function batchSize({ free, running, least }: Load): number {
  const lead = least === null ? MAX_BATCH : least + MIN_LEAD + Math.floor(running * LEAD_SHARE) - running;
  return Math.max(1, Math.min(MAX_BATCH, Math.floor(free * BATCH_SHARE), lead));
}

/**
 * Returns the tenants that may start no further turn here. A lone tenant may use nine of ten slots. With fewer free
 * slots, each tenant may use fewer.
 * @param tenants the tenant of each running job
 */
export function crowdingTenants(tenants: Iterable<string>, free: number): string[] {
  const used = new Map<string, number>();
  for (const tenant of tenants) used.set(tenant, (used.get(tenant) ?? 0) + 1);
  return [...used].flatMap(([tenant, slots]) => (slots >= SLOTS_PER_FREE_SLOT * free ? [tenant] : []));
}

/**
 * Returns when to fetch after a hint, or after a wake-up that all workers get.
 * @param lead how many jobs more than the worker with the least load this worker runs
 * @param random from 0 up to 1
 */
export function fetchDelayMs(wakeUp: "hint" | "broadcast", lead: number, random: number): number {
  if (wakeUp === "hint") return random * JITTER_MS;
  return random * SPREAD_JITTER_MS + Math.min(MAX_DELAY_MS, Math.max(0, lead) * DELAY_PER_JOB_MS);
}
