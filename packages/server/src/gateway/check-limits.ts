/** Whether a gateway can keep to the limits that it was given. Pure; throws words that say what to set instead. */
import { MAX_PAGE } from "../store/ports/sessions.ts";
import { LOOKS_PER_BEAT } from "./connection/registry.ts";
import type { GatewayLimits } from "./options.ts";

type Range = readonly [least: number, most: number];

const COUNT: Range = [1, Number.MAX_SAFE_INTEGER];
/** What a timer of Node takes: with more, it would fire at once. */
const MS: Range = [1, 2 ** 31 - 1];
/** What one message of a socket can be held to. */
const BODY: Range = [1, 2 ** 31 - 1];

const RANGES: Readonly<Record<keyof GatewayLimits, Range>> = {
  queueBytes: COUNT,
  stalledMs: MS,
  pingMs: MS,
  pongMs: MS,
  keepAliveMs: MS,
  beatMs: [LOOKS_PER_BEAT, MS[1]],
  silenceMs: MS,
  subscriptionsPerSocket: COUNT,
  bodyBytes: BODY,
  uploadBytes: COUNT,
  sessionUploadBytes: COUNT,
  ticketMs: MS,
  // Tokens count in seconds.
  tokenMs: [1_000, MS[1]],
  // As many as the archive gives at once.
  turns: [1, MAX_PAGE],
  sweepMs: MS,
};

/** Throws a RangeError. */
export function checkLimits(limits: Partial<GatewayLimits>): void {
  for (const [name, value] of Object.entries(limits)) {
    const range = Object.hasOwn(RANGES, name) ? RANGES[name as keyof GatewayLimits] : undefined;
    if (range === undefined)
      throw new RangeError(
        `limits.${name} is no limit of a gateway: there are ${Object.keys(RANGES).join(", ")}`,
      );
    const [least, most] = range;
    if (!Number.isSafeInteger(value) || value < least || value > most)
      throw new RangeError(`limits.${name} must be a whole number from ${least} to ${most}`);
  }
}
