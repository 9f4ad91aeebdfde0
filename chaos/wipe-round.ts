/**
 * `WipeRound` runs one wipe of Redis. It creates sessions with and without a running turn and reads and archives them
 * in part. After the wipe it takes the turns over, ends them, and compares everything with the archive.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  compareCursors,
  type Cursor,
  emptyState,
  fold,
  type SessionState,
  snapshot,
} from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { type Backend, readHistory, type SessionRef } from "@turnstream/server";
import { archiveSession, claimIdleSession } from "@turnstream/server/internal";
import type { RedisServer } from "@turnstream/testkit/servers/start-redis.ts";
import { createTitle } from "./ledger.ts";
import { NEVER_MS } from "./scenario.ts";
import { StateReader } from "./state-reader.ts";
import { WrittenTurn } from "./written-turn.ts";

export const TENANT = "chaos";
/** How many sessions have a running turn. */
export const RUNNING = 2;
/** How soon a reader that has seen lost events must be notified. */
export const REPORT_MS = 1_000;
/** How much of an idle session is archived. */
const IDLE = ["nothing", "part", "all"] as const;

/** Sums over all rounds. */
export interface WipeFound {
  mustReport: number;
  untold: number;
  slowestMs: number;
  badHistory: number;
  illegal: number;
  unended: number;
  wrongReaders: number;
  wrongArchives: number;
  notRefused: number;
}

interface Watched {
  readonly ref: SessionRef;
  readonly readers: readonly StateReader[];
  readonly turn: WrittenTurn | null;
}

export class WipeRound {
  /** The position of each reader when Redis was wiped. */
  readonly #at = new Map<StateReader, { readonly ref: SessionRef; readonly cursor: string }>();
  readonly #backend: Backend;
  readonly #readers: readonly Backend[];
  readonly #random: () => number;
  readonly #found: WipeFound;

  constructor(backend: Backend, readers: readonly Backend[], random: () => number, found: WipeFound) {
    this.#backend = backend;
    this.#readers = readers;
    this.#random = random;
    this.#found = found;
  }

  async run(name: string, redis: RedisServer): Promise<void> {
    const running = Array.from({ length: RUNNING }, (_, n) => this.#makeRunning(`${name}-turn${n}`));
    const idle = IDLE.map((archived) => this.#makeIdle(`${name}-idle-${archived}`, archived));
    const all = await Promise.all([...running, ...idle]);
    const turns = all.flatMap(({ ref, turn }) => (turn === null ? [] : [{ ref, turn }]));
    const streams = turns.map(({ turn }) => turn.stream(this.#random() * 300));
    await sleep(30 + this.#random() * 450);

    const wipedAt = performance.now();
    await redis.command("FLUSHALL");
    const beyond = (await Promise.all(all.map((watched) => this.#beyondArchive(watched)))).flat();
    const refused = Promise.all(streams);
    const reporting = this.#wait(beyond, wipedAt);
    const ending = turns.map(async ({ turn }) => {
      await refused;
      await this.#goOn(turn);
    });
    for (const isRefused of await refused) if (!isRefused) this.#found.notRefused++;
    await Promise.all([reporting, ...ending]);
    await Promise.all(all.filter(({ turn }) => turn === null).map(({ ref }) => this.#rename(ref)));
    await Promise.all(all.map((watched) => this.#compare(watched)));
  }

  async #makeRunning(session: string): Promise<Watched> {
    const ref = await this.#create(session);
    const turn = new WrittenTurn(this.#backend, ref);
    await turn.begin();
    return this.#watch(ref, turn);
  }

  async #makeIdle(session: string, archived: (typeof IDLE)[number]): Promise<Watched> {
    const ref = await this.#create(session);
    const { log } = this.#backend;
    const { epoch } = await log.claim(ref, {
      epoch: (await this.#backend.store.epochs.next(ref, { seen: 0, by: "chaos", reason: "chaos" })).epoch,
      writer: "chaos",
      event: { type: "session.start", session, number: 1 },
      archivedUpTo: "0-0",
    });
    await log.append(ref, { writer: "chaos", epoch, counter: 1, events: [createTitle("first")] });
    if (archived === "part") await archiveSession(this.#backend, ref);
    await log.append(ref, { writer: "chaos", epoch, counter: 2, events: [createTitle("second")] });
    if (archived === "all") await archiveSession(this.#backend, ref);
    return this.#watch(ref, null);
  }

  async #create(session: string): Promise<SessionRef> {
    await this.#backend.store.sessions.create({ tenant: TENANT, user: "chaos" }, { id: session });
    return { tenant: TENANT, session };
  }

  async #watch(ref: SessionRef, turn: WrittenTurn | null): Promise<Watched> {
    const readers = this.#readers.map((backend) => new StateReader(backend, ref));
    const { cursor } = await readHistory(this.#backend, ref);
    for (const reader of readers) await reader.reaches(cursor);
    return { ref, readers, turn };
  }

  /** The readers that have seen events that are now lost. */
  async #beyondArchive({ ref, readers }: Watched): Promise<StateReader[]> {
    const seen = readers.map(({ cursor }) => cursor);
    const { archived } = await this.#backend.store.archive.header(ref);
    const beyond = readers.filter((_, n) => compareCursors(seen[n] ?? "0-0", archived) > 0);
    for (const [n, reader] of readers.entries()) this.#at.set(reader, { ref, cursor: seen[n] ?? "0-0" });
    return beyond;
  }

  /**
   * An archiver may have read the entries before the wipe and committed them after it. A reader at exactly that
   * position has lost nothing and continues without a notification.
   */
  async #isArchived(reader: StateReader): Promise<boolean> {
    const at = this.#at.get(reader);
    const [epoch = 0, seq = 0] = at?.cursor.split("-").map(Number) ?? [];
    if (at === undefined) return false;
    const [event] = await this.#backend.store.archive.events(at.ref, { after: seq - 1, limit: 1 });
    return event?.id.startsWith(`${epoch}-`) === true;
  }

  async #wait(readers: readonly StateReader[], since: number): Promise<void> {
    this.#found.mustReport += readers.length;
    const deadline = since + NEVER_MS;
    const isWaiting = () => readers.some(({ ends }) => ends.length === 0);
    while (isWaiting() && performance.now() < deadline) await sleep(5);
    for (const reader of readers) {
      const [first] = reader.ends;
      if (first === undefined) this.#found.untold += (await this.#isArchived(reader)) ? 0 : 1;
      else this.#found.slowestMs = Math.max(this.#found.slowestMs, first.at - since);
    }
  }

  /** Another worker continues the turn some time after the loss. */
  async #goOn(turn: WrittenTurn): Promise<void> {
    await sleep(this.#random() * 600);
    const history = await turn.history();
    if (history.logUnavailableReason !== "missing" || !turn.isStart(history)) this.#found.badHistory++;
    await turn.takeOver(history);
    if (!turn.isWhole(await turn.history())) this.#found.unended++;
  }

  /** A user returns to an idle session. */
  async #rename(ref: SessionRef): Promise<void> {
    const { state, logUnavailableReason } = await readHistory(this.#backend, ref);
    const expected = { nothing: null, part: "first", all: "second" };
    const kind = IDLE.find((each) => ref.session.endsWith(each)) ?? "all";
    if (logUnavailableReason !== "missing" || state.title !== expected[kind]) this.#found.badHistory++;
    if (kind === "nothing") {
      const event = { type: "session.start", session: ref.session, number: 1 } as const;
      const { epoch, archived } = await this.#backend.store.epochs.next(ref, {
        seen: 0,
        by: "chaos",
        reason: "restart",
      });
      await this.#backend.log.claim(ref, { epoch, writer: "restart", event, archivedUpTo: archived });
    } else await claimIdleSession(this.#backend, ref, "chaos");
    await this.#backend.log.append(ref, {
      writer: "gateway",
      counter: 1,
      events: [createTitle("third")],
    });
  }

  async #compare({ ref, readers }: Watched): Promise<void> {
    await archiveSession(this.#backend, ref);
    const { state, cursor, archivedUpTo } = await readHistory(this.#backend, ref);
    const refolded = await this.#refold(ref, cursor);
    if (archivedUpTo !== cursor || !isSame(refolded, state)) this.#found.wrongArchives++;
    for (const reader of readers) {
      if (!(await reader.reaches(cursor)) || !isSame(reader.state, state)) this.#found.wrongReaders++;
      this.#found.illegal += reader.illegal;
      await reader.stop();
    }
  }

  /** Folds the archive from its first event and checks each event. */
  async #refold(ref: SessionRef, upTo: Cursor): Promise<SessionState> {
    let state = emptyState;
    while (compareCursors(`${state.epoch}-${state.seq}`, upTo) < 0) {
      const events = await this.#backend.store.archive.events(ref, { after: state.seq, limit: 100 });
      for (const event of events) {
        if (checkEvent(state, event) !== null) this.#found.illegal++;
        state = fold(state, event);
      }
      if (events.length === 0) break;
    }
    return state;
  }
}

function isSame(one: SessionState, other: SessionState): boolean {
  return isDeepStrictEqual(plain(one), plain(other));
}

function plain(state: SessionState): unknown {
  return JSON.parse(JSON.stringify(snapshot(state)));
}
