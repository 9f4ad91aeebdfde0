/**
 * Which server keeps which slot, out of what several servers of a cluster say. They hear of changes one after the
 * other and may disagree for a while. Pure.
 *
 * Who disowns a slot doesn't keep it, whatever the others say. Of those left, the one with the highest epoch does:
 * servers of the cluster settle it among themselves in the same way.
 */
import { formatAddress } from "../connection/address.ts";

interface Claim {
  readonly from: number;
  readonly to: number;
  readonly id: string;
  readonly epoch: number;
  /** Null when the one who was asked doesn't know it either. */
  readonly address: string | null;
}

/** What one server says. */
export interface TopologyView {
  /** Its own id; null when it doesn't tell. */
  readonly self: string | null;
  readonly claims: readonly Claim[];
}

/** By slot; null where nobody keeps it. */
export type SlotMap = readonly (string | null)[];

type SlotsReply = readonly [number, number, ...[string | null, number, string, unknown?][]][];

/** The answers to CLUSTER SLOTS and CLUSTER NODES, and the host that was asked. */
export function parseTopologyView(slots: unknown, nodes: unknown, askedHost: string): TopologyView {
  const epochs = new Map<string, number>();
  let self: string | null = null;
  for (const line of typeof nodes === "string" ? nodes.split("\n") : []) {
    const [id = "", , flags = "", , , , epoch = "0"] = line.split(" ");
    epochs.set(id, Number(epoch));
    if (flags.split(",").includes("myself")) self = id;
  }
  const claims = (slots as SlotsReply).flatMap(([from, to, primary]): Claim[] => {
    if (primary === undefined) return [];
    const [host, port, id, more] = primary;
    const at = readHost(host, more, askedHost);
    const address = at === null ? null : formatAddress(at, port);
    return [{ from, to, id, epoch: epochs.get(id) ?? 0, address }];
  });
  return { self, claims };
}

/** Nothing means: the host that was asked. A question mark means: it has a name, but I don't know it. */
function readHost(host: string | null, more: unknown, askedHost: string): string | null {
  if (host === null || host === "") return askedHost;
  if (host !== "?") return host;
  const ip = (more as { readonly ip?: unknown } | undefined)?.ip;
  return typeof ip === "string" && ip !== "" ? ip : null;
}

export function mergeTopologyViews(views: readonly TopologyView[]): SlotMap {
  const kept = new Map(
    views.flatMap(({ self, claims }) => (self === null ? [] : [[self, slotsOf(self, claims)] as const])),
  );
  const best = Array.from<Claim | null>({ length: SLOTS }).fill(null);
  const ranks = new Float64Array(SLOTS).fill(-Infinity);
  const addresses = addressesOf(views);
  for (const claim of views.flatMap(({ claims }) => claims)) {
    if (!addresses.has(claim.id)) continue;
    const own = kept.get(claim.id);
    for (let slot = claim.from; slot <= claim.to; slot++) {
      // Still better than nobody: the one it is on its way to may not have heard.
      const rank = own === undefined || own[slot] === 1 ? claim.epoch : -1;
      if (rank <= (ranks[slot] ?? 0)) continue;
      ranks[slot] = rank;
      best[slot] = claim;
    }
  }
  return best.map((claim) => (claim === null ? null : (addresses.get(claim.id) ?? null)));
}

function slotsOf(id: string, claims: readonly Claim[]): Uint8Array {
  const slots = new Uint8Array(SLOTS);
  for (const { from, to, id: owner } of claims) if (owner === id) slots.fill(1, from, to + 1);
  return slots;
}

/** One address for each server, and always the same: the one that most say, else the first by name. */
function addressesOf(views: readonly TopologyView[]): Map<string, string> {
  const votes = new Map<string, Map<string, number>>();
  for (const { claims } of views) {
    for (const key of new Set(claims.map(({ id, address }) => `${id} ${address ?? ""}`))) {
      const [id = "", address = ""] = key.split(" ");
      if (address === "") continue;
      const of = votes.get(id) ?? new Map<string, number>();
      votes.set(id, of.set(address, (of.get(address) ?? 0) + 1));
    }
  }
  return new Map([...votes].map(([id, counts]) => [id, mostNamed(counts)]));
}

function mostNamed(counts: ReadonlyMap<string, number>): string {
  const [first] = [...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return first?.[0] ?? "";
}

/** The hash slot of a key in Redis Cluster: CRC16 (XMODEM) of its hash tag, or of the whole key. Pure. */
export const SLOTS = 16_384;

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
