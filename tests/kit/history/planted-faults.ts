/**
 * `PLANTED_FAULTS` plants one fault into a copy of a recorded history, of each kind that `checkHistory` must find. So a
 * test shows that the check would notice what it promises. Pure.
 */
import type { FindingKind, HistoryEntry, Operation } from "./check-history.ts";

type Random = () => number;
type History = readonly Operation[];

export interface PlantedFault {
  readonly kind: FindingKind;
  /** Returns null if the history has no place for the fault. */
  readonly plant: (history: History, random: Random) => Operation[] | null;
}

/** A fault at the end of a log, which its readers receive too. */
interface Extension {
  readonly operations?: readonly Operation[];
  readonly entries?: readonly HistoryEntry[];
}

/** What a reader received. */
interface Reader {
  readonly name: string;
  readonly entries: readonly HistoryEntry[];
  readonly isReading: boolean;
  /** True if another reader of the session was told to reload before. */
  readonly isAfterReload: boolean;
}

interface Place {
  readonly session: string;
  readonly list: readonly HistoryEntry[];
  readonly readers: readonly Reader[];
  /** Returns the position of the nth entry after the end of the list, in the last epoch or another one. */
  readonly next: (n?: number, epochs?: number) => string;
  /** An append that is sent, but not answered. */
  readonly write: (key: string, bodies: readonly string[], epochs?: number) => Operation;
}

export const PLANTED_FAULTS: Readonly<Record<string, PlantedFault>> = {
  "an acknowledged append is lost": { kind: "lost", plant: removeAcknowledged },
  "an acknowledged append never arrives": inLog("lost", ({ session, write, next }) => ({
    operations: [
      write("planted:1", ["a"]),
      { type: "acknowledged", session, key: "planted:1", first: next(), repeated: false },
    ],
  })),
  "an append is in the log twice": inLog("doubled", ({ list, next }, random) => ({
    entries: [{ ...pick(list, random), position: next() }],
  })),
  "an append is in the log in part": inLog("torn", ({ write, next }) => ({
    operations: [write("planted:1", ["a", "b"])],
    entries: [{ position: next(), key: "planted:1", body: "a" }],
  })),
  "an append is interrupted by another one": inLog("torn", ({ write, next }) => ({
    operations: [write("planted:1", ["a", "b"]), write("planted:2", ["c"])],
    entries: [
      { position: next(1), key: "planted:1", body: "a" },
      { position: next(2), key: "planted:2", body: "c" },
      { position: next(3), key: "planted:1", body: "b" },
    ],
  })),
  "a late append is after the next one of its writer": inLog("reordered", ({ write, next }) => ({
    operations: [write("planted:1", ["a"]), write("planted:2", ["b"])],
    entries: [
      { position: next(1), key: "planted:2", body: "b" },
      { position: next(2), key: "planted:1", body: "a" },
    ],
  })),
  "an entry has another content": inLog("replaced", ({ write, next }) => ({
    operations: [write("planted:1", ["a"])],
    entries: [{ position: next(), key: "planted:1", body: "b" }],
  })),
  "a position is acknowledged to two writers": inLog("replaced", ({ session, list, write }, random) => ({
    operations: [
      write("planted:1", ["a"]),
      {
        type: "acknowledged",
        session,
        key: "planted:1",
        first: pick(list, random).position,
        repeated: false,
      },
    ],
  })),
  "an append of a fenced writer is accepted": inLog("epoch", ({ write, next }) => ({
    operations: [write("planted:1", ["a"], -1)],
    entries: [{ position: next(), key: "planted:1", body: "a" }],
  })),
  "an append begins an epoch without a claim": inLog("epoch", ({ write, next }) => ({
    operations: [write("planted:1", ["a"])],
    entries: [{ position: next(1, 1), key: "planted:1", body: "a" }],
  })),
  "an append is accepted after a loss, before a claim": inLog("epoch", ({ session, list, write, next }) => ({
    operations: [write("planted:1", ["a"]), { type: "loss", session, kept: list.at(-1)?.position ?? "0-0" }],
    entries: [{ position: next(), key: "planted:1", body: "a" }],
  })),
  "a refused append is in the log": inLog("unwritten", ({ session, write, next }) => ({
    operations: [write("planted:1", ["a"]), { type: "refused", session, key: "planted:1" }],
    entries: [{ position: next(), key: "planted:1", body: "a" }],
  })),
  "an entry was never sent": inLog("unwritten", ({ next }) => ({
    entries: [{ position: next(), key: "planted:1", body: "a" }],
  })),
  "a reader receives an entry twice": inReader("reordered", ({ entries }, random) => {
    const at = Math.floor(random() * entries.length);
    return entries.toSpliced(at, 0, ...entries.slice(at, at + 1));
  }),
  "a reader receives two entries in the wrong order": inReader("reordered", ({ entries }, random) => {
    const at = Math.floor(random() * (entries.length - 1));
    return entries.length < 2 ? null : entries.toSpliced(at, 2, ...entries.slice(at, at + 2).toReversed());
  }),
  "a reader skips an entry": inReader("gap", ({ entries }, random) =>
    entries.length < 2 ? null : entries.toSpliced(Math.floor(random() * (entries.length - 1)), 1),
  ),
  "a reader skips the first entry after a reload": inReader("gap", ({ entries, isAfterReload }) =>
    isAfterReload && entries.length > 1 ? entries.slice(1) : null,
  ),
  "a reader receives another content": inReader("replaced", ({ entries }, random) => {
    const at = Math.floor(random() * entries.length);
    return entries.map((entry, n) => (n === at ? { ...entry, body: "other" } : entry));
  }),
  "a reader keeps an entry that is lost": inReader("stale", ({ entries, isReading }, _, { next }) => {
    const [last] = entries.slice(-1);
    return isReading && last !== undefined ? [...entries, { ...last, position: next() }] : null;
  }),
  "a reader continues after an entry that is lost": inReader("stale", ({ entries }, _, { list }) => {
    const first = findClaim(list)?.position;
    const claim = entries.findIndex(({ position }) => position === first);
    const before = entries[claim - 1];
    const lost = `${epochAt(before?.position)}-${seqAt(before?.position) + 1}`;
    return before === undefined ? null : entries.toSpliced(claim, 0, { ...before, position: lost });
  }),
  "a reader of lost entries is not told": { kind: "stale", plant: removeMessage },
  "a reader is left behind": inReader("behind", ({ entries, isReading }) =>
    isReading && entries.length > 0 ? entries.slice(0, -1) : null,
  ),
};

function inLog(kind: FindingKind, extend: (place: Place, random: Random) => Extension): PlantedFault {
  return {
    kind,
    plant(history, random) {
      const place = pickPlace(history, random);
      if (place === null) return null;
      const { operations = [], entries = [] } = extend(place, random);
      const extended = history.map((each) =>
        each.type === "final" && each.session === place.session
          ? { ...each, entries: [...each.entries, ...entries] }
          : each,
      );
      const reads = place.readers
        .filter(({ isReading }) => isReading)
        .map(({ name }): Operation => ({ type: "read", reader: name, entries }));
      return [...extended, ...operations, ...reads];
    },
  };
}

/** @param change returns what the reader receives instead, or null to try another reader */
function inReader(
  kind: FindingKind,
  change: (reader: Reader, random: Random, place: Place) => HistoryEntry[] | null,
): PlantedFault {
  return {
    kind,
    plant(history, random) {
      const place = pickPlace(history, random);
      for (const reader of shuffle(place?.readers ?? [], random)) {
        const entries = place === null ? null : change(reader, random, place);
        if (entries === null || reader.entries.length === 0) continue;
        const others = history.filter((each) => each.type !== "read" || each.reader !== reader.name);
        return [...others, { type: "read", reader: reader.name, entries }];
      }
      return null;
    },
  };
}

/** Removes an acknowledged entry from the log and from what readers received. */
function removeAcknowledged(history: History, random: Random): Operation[] | null {
  const place = pickPlace(history, random);
  if (place === null) return null;
  const epoch = epochAt(place.list.at(-1)?.position);
  const lost = shuffle(history, random).find(
    (each) => each.type === "acknowledged" && each.session === place.session && epochAt(each.first) === epoch,
  );
  if (lost?.type !== "acknowledged") return null;
  const names = new Set(place.readers.map(({ name }) => name));
  return history.map((each) =>
    (each.type === "final" && each.session === place.session) ||
    (each.type === "read" && names.has(each.reader))
      ? { ...each, entries: each.entries.filter(({ position }) => position !== lost.first) }
      : each,
  );
}

/** Removes the message to a reader whose last entry is lost. */
function removeMessage(history: History, random: Random): Operation[] | null {
  const places = findPlaces(history).flatMap(({ list, readers }) => {
    const positions = new Set(list.map(({ position }) => position));
    return readers.filter(
      ({ entries }) => entries.length > 0 && !positions.has(entries.at(-1)?.position ?? ""),
    );
  });
  const told = shuffle(places, random).find(({ name }) =>
    history.some((each) => each.type === "told" && each.reader === name),
  );
  return told === undefined
    ? null
    : history.filter((each) => each.type !== "told" || each.reader !== told.name);
}

function pickPlace(history: History, random: Random): Place | null {
  return shuffle(findPlaces(history), random)[0] ?? null;
}

function findPlaces(history: History): Place[] {
  const readers = new Map<string, Reader & { readonly session: string; entries: HistoryEntry[] }>();
  const reloaded = new Set<string>();
  const over = new Set<string>();
  for (const each of history) {
    if (each.type === "follow") {
      const { reader: name, session } = each;
      const isAfterReload = reloaded.has(session);
      readers.set(name, { name, session, entries: [], isReading: true, isAfterReload });
    } else if (each.type === "read") readers.get(each.reader)?.entries.push(...each.entries);
    else if (each.type === "told" || each.type === "left") {
      over.add(each.reader);
      if (each.type === "told") reloaded.add(readers.get(each.reader)?.session ?? "");
    } else if (each.type === "killed") {
      for (const name of readers.keys()) if (name.startsWith(`${each.process}/`)) over.add(name);
    }
  }
  return history.flatMap((each) => {
    const last = each.type === "final" ? each.entries.at(-1) : undefined;
    if (each.type !== "final" || last === undefined) return [];
    const { session, entries: list } = each;
    const [epoch, seq] = [epochAt(last.position), seqAt(last.position)];
    const place: Place = {
      session,
      list,
      readers: [...readers.values()]
        .filter((reader) => reader.session === session)
        .map((reader) => ({ ...reader, isReading: !over.has(reader.name) })),
      next: (n = 1, epochs = 0) => `${epoch + epochs}-${seq + n}`,
      write: (key, bodies, epochs) => ({
        type: "write",
        session,
        key,
        writer: "planted",
        bodies,
        epoch: epochs === undefined ? null : epoch + epochs,
        isClaim: false,
      }),
    };
    return [place];
  });
}

/** Returns the first entry of the last epoch. */
function findClaim(list: readonly HistoryEntry[]): HistoryEntry | undefined {
  return list.find(({ position }) => epochAt(position) === epochAt(list.at(-1)?.position));
}

function pick(list: readonly HistoryEntry[], random: Random): HistoryEntry {
  return list[Math.floor(random() * list.length)] as HistoryEntry;
}

function shuffle<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item);
}

function epochAt(position = "0-0"): number {
  return Number(position.split("-")[0]);
}

function seqAt(position = "0-0"): number {
  return Number(position.split("-")[1]);
}
