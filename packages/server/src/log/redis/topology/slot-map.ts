/**
 * `parseSlotMap` parses the slot map of a cluster, and `slotOf` computes the slot of a key. Pure.
 *
 * Invariant: `slotOf` computes the same slot as Redis, from the hash tag or the whole key. Otherwise every command
 * would be redirected. A slot whose server is unknown is null.
 */
import { formatAddress } from "../connection/address.ts";

/** The address of the primary by slot, or null if it is unknown. */
export type SlotMap = readonly (string | null)[];

type SlotsReply = readonly [number, number, ...[string | null, number, string, unknown?][]][];

/**
 * @param reply of CLUSTER SLOTS
 * @param askedHost host of the server that replied
 */
export function parseSlotMap(reply: unknown, askedHost: string): SlotMap {
  const slots = Array.from<string | null>({ length: SLOTS }).fill(null);
  for (const [from, to, primary] of reply as SlotsReply) {
    if (primary === undefined) continue;
    const [host, port, , metadata] = primary;
    const primaryHost = parseHost(host, metadata, askedHost);
    if (primaryHost !== null) slots.fill(formatAddress(primaryHost, port), from, to + 1);
  }
  return slots;
}

/** An empty host means the host that was asked. `?` means that the server doesn't know the host name. */
function parseHost(host: string | null, metadata: unknown, askedHost: string): string | null {
  if (host === null || host === "") return askedHost;
  if (host !== "?") return host;
  const ip = (metadata as { readonly ip?: unknown } | undefined)?.ip;
  return typeof ip === "string" && ip !== "" ? ip : null;
}

export const SLOTS = 16_384;

/** Returns the Redis Cluster hash slot of a key: CRC16 (XMODEM) of its hash tag, or of the whole key. */
export function slotOf(key: string): number {
  return crc16(Buffer.from(hashTag(key))) % SLOTS;
}

function hashTag(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return open < 0 || close <= open + 1 ? key : key.slice(open + 1, close);
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}
