/** How long a connection waits for what. Pure. */

/** Beyond a first, quick return: doubled each time, up to the last. */
const FIRST_MS = 500;
const LAST_MS = 30_000;
/** A connection that was good and is lost, as when somebody walks from one network to another. */
const QUICK_MS = 100;
/** Everybody whom a server sends away at once comes back at another moment. */
const SPREAD_MS = { least: 500, most: 3_000 };

export const PACE = {
  /** For credentials and a ticket; a slow phone needs some of it. */
  askMs: 30_000,
  openMs: 20_000,
  /** A socket that has said nothing for so long is asked whether it is there. */
  quietMs: 25_000,
  /** One that has said nothing since it opened, though something was asked of it, is asked sooner. */
  firstWordMs: 5_000,
  /** An event stream says something every 15 seconds. */
  streamQuietMs: 45_000,
  answerMs: 15_000,
  /** Servers of the documents know no heart-beats, and may think for 180 seconds. */
  foreignQuietMs: 190_000,
  /** Once woken: what was heard so shortly before is there. */
  freshMs: 5_000,
  /** A machine that says it has no network may be wrong. */
  offlineMs: 30_000,
  /** A connection of less than that counts as a failure to stay. */
  shortMs: 5_000,
  /** For how long event streams are used where sockets don't pass. */
  streamsForMs: 300_000,
} as const;

/** @param failures since it was last good; 0 for the first return  @param random from 0 to 1 */
export function backOff(failures: number, random: number): number {
  if (failures <= 0) return Math.round(QUICK_MS * (1 + 2 * random));
  return Math.round(Math.min(LAST_MS, FIRST_MS * 2 ** (failures - 1)) * (0.5 + random / 2));
}

export function spread(random: number): number {
  return Math.round(SPREAD_MS.least + (SPREAD_MS.most - SPREAD_MS.least) * random);
}
