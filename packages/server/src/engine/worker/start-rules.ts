/**
 * `batchSize`, `crowdingTenants` and `startDelayMs` decide how many turns a process starts, whose, and when. Pure.
 *
 * Invariant: a tenant can't take the last tenth of the slots while it uses the others, so a turn of another tenant starts
 * at once. Processes with more load ask later and start small batches, so that turns spread evenly.
 */

const MAX_BATCH = 8;
/** The fraction of free slots in a batch. */
const BATCH_SHARE = 1 / 8;
/** A tenant may use this many slots for each slot that stays free. */
const SLOTS_PER_FREE_SLOT = 9;
/** Spreads processes with the same load. */
const JITTER_MS = 4;
/** How much later a full process would ask than an idle one. */
const LOAD_DELAY_MS = 100;

/** Returns how many turns to start at most. */
export function batchSize(free: number): number {
  return Math.max(1, Math.min(MAX_BATCH, Math.floor(free * BATCH_SHARE)));
}

/**
 * Returns the tenants that may start no further turn here. A lone tenant may use nine of ten slots. With fewer free
 * slots, each tenant may use fewer.
 * @param tenants the tenant of each running turn
 */
export function crowdingTenants(tenants: Iterable<string>, free: number): string[] {
  const used = new Map<string, number>();
  for (const tenant of tenants) used.set(tenant, (used.get(tenant) ?? 0) + 1);
  return [...used].flatMap(([tenant, slots]) => (slots >= SLOTS_PER_FREE_SLOT * free ? [tenant] : []));
}

/**
 * Returns when to ask for turns after a signal that all processes get.
 * @param load the fraction of the slots in use
 * @param random from 0 up to 1
 */
export function startDelayMs(load: number, random: number): number {
  return random * JITTER_MS + load * LOAD_DELAY_MS;
}
