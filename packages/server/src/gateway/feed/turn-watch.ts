/**
 * `waitForTurnStart`, `waitForBlockedTurn` and `waitForTurnEnd` wait for a turn on a feed, or find one that already
 * started, waits for a user, or ended. `idleSince` returns since when a running turn has written no event.
 * Invariant: listen for new entries before the existing ones are searched, and search again after a reset, so that no
 * turn is missed. Every wait ends when the signal is aborted or the feed ends, and removes its listener. A message
 * that was withdrawn or does not exist gives `NOT_FOUND`. `idleSince` reads the session at most once per idle period.
 */
import {
  listBlocks,
  type Cursor,
  findTurn,
  formatCursor,
  isPending,
  type Position,
  restoreTurn,
  START_CURSOR,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import { outlivesTurn } from "@turnstream/protocol/writer";
import type { LogEntry } from "../../log/entry.ts";
import { readHistory } from "../../session/history/read-history.ts";
import { StoreError } from "../../store/errors.ts";
import type { SessionFeed } from "./session-feed.ts";
import { endedTurn } from "../subscription/replay-page.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";
import { defined } from "../../util/defined.ts";

export interface TurnStarted {
  readonly turn: string;
  /** The position directly before the turn's first event: subscribe after it. */
  readonly before: Cursor;
}

export interface TurnEnded {
  readonly turn: Turn;
  /** The state of the session when the turn ended. */
  readonly state: SessionState;
}

/** Number of turns per page when searching for one that started earlier. */
const TURNS_PER_PAGE = 20;

/** The event types that determine what happens to a message. */
const START_EVENTS = ["turn.start", "question.update", "message.remove"] as const;

/** The event types after which a turn may wait for a user. */
const REQUEST_EVENTS = ["approval.request", "question.request", "form.request"] as const;

/** Number of pages that are searched. An older message counts as missing. */
const MAX_PAGES = 50;

/** @throws StoreError with code `NOT_FOUND` if the message was withdrawn or does not exist */
export function waitForTurnStart(
  feed: SessionFeed,
  message: string,
  signal: AbortSignal,
): Promise<TurnStarted> {
  return findOrWait(feed, signal, {
    find: () => findTurnStart(feed, message),
    match: (entry, before) => {
      if (!START_EVENTS.some((type) => entry.hasType(type))) return null;
      const { event } = entry;
      if (!("message" in event) || event.message !== message || event.type === "message.add") return null;
      if (event.type === "message.remove") throw new StoreError("NOT_FOUND", `message ${message}`);
      return "turn" in event ? { turn: event.turn, before: formatCursor(before) } : null;
    },
  });
}

/** Returns null while the message is queued. */
async function findTurnStart(feed: SessionFeed, message: string): Promise<TurnStarted | null> {
  const { context, ref } = feed;
  const { state } = await readHistory(context, ref, { turns: TURNS_PER_PAGE });
  const found = await findTurnStartIn(feed, state.turns.toArray().toReversed(), message);
  if (found !== null) return found;
  if (state.waiting.some(({ id }) => id === message)) return null;
  // Check this first. A turn that is no longer expected is then certainly archived when the turns are read.
  const isStillExpected = !state.settled.includes(message) && (await isExpected(feed, message));
  let before: number | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const records = await context.store.turns.list(ref, {
      limit: TURNS_PER_PAGE,
      ...defined({ before }),
    });
    const older = await findTurnStartIn(
      feed,
      records.map(({ snapshot }) => restoreTurn(snapshot)),
      message,
    );
    if (older !== null) return older;
    before = records.at(-1)?.start;
    if (before === undefined) break;
  }
  if (isStillExpected) return null;
  throw new StoreError("NOT_FOUND", `message ${message}`);
}

/**
 * Returns true if the message can still appear in the log: it is queued, or the running turn has taken it or waits for
 * it.
 */
async function isExpected({ context: { store }, ref }: SessionFeed, message: string): Promise<boolean> {
  if ((await store.queuedMessages.list(ref)).some(({ id }) => id === message)) return true;
  return (await store.running.get(ref)) !== null;
}

/**
 * Finds the turn that answers a message. An answer to a question starts no turn: the asking turn continues from there.
 * @param turns the newest first
 */
async function findTurnStartIn(
  feed: SessionFeed,
  turns: readonly Turn[],
  message: string,
): Promise<TurnStarted | null> {
  for (const turn of turns) {
    if (turn.message?.id === message)
      return { turn: turn.id, before: await findCursorBefore(feed, turn.start) };
    for (const block of listBlocks(turn))
      if (block.kind === "question" && block.message === message)
        return { turn: turn.id, before: await findCursorBefore(feed, block.changed) };
  }
  return null;
}

/** Resolves with the running turn when it waits for a user, so that no queued message starts before a decision. */
export function waitForBlockedTurn(feed: SessionFeed, signal: AbortSignal): Promise<TurnStarted> {
  return findOrWait(feed, signal, {
    find: async () => {
      const turn = (await readHistory(feed.context, feed.ref, { turns: 1 })).state.turns.last();
      if (turn === undefined || !waitsForUser(turn)) return null;
      return { turn: turn.id, before: await findCursorBefore(feed, turn.start) };
    },
    match: (entry) => (REQUEST_EVENTS.some((type) => entry.hasType(type)) ? "search" : null),
  });
}

export function waitForTurnEnd(feed: SessionFeed, id: string, signal: AbortSignal): Promise<TurnEnded> {
  return findOrWait(feed, signal, {
    find: async () => {
      const { state } = await readHistory(feed.context, feed.ref, { turns: TURNS_PER_PAGE });
      const turn = findTurn(state, id) ?? (await readArchivedTurn(feed, id));
      return turn === null || turn.status === "running" ? null : { turn, state };
    },
    match: (entry) => (endedTurn(entry) === id ? "search" : null),
  });
}

async function readArchivedTurn({ context, ref }: SessionFeed, id: string): Promise<Turn | null> {
  const record = await context.store.turns.get(ref, id);
  return record === null ? null : restoreTurn(record.snapshot);
}

/** Whether a turn without events is idle, cached until the next event. */
const idleChecks = new WeakMap<SessionFeed, { readonly since: number; isIdle: boolean }>();

/** Reads the session only after `minMs` without an event, and only once per such period. */
export function idleSince(feed: SessionFeed, minMs: number): number | null {
  const { lastEntryAt: since } = feed;
  if (since === null || performance.now() - since < minMs) return null;
  if (feed.headState !== null) return isIdle(feed.headState) ? since : null;
  const last = idleChecks.get(feed);
  if (last?.since === since) return last.isIdle ? since : null;
  const check = { since, isIdle: false };
  idleChecks.set(feed, check);
  readHistory(feed.context, feed.ref, { turns: 1 }).then(
    ({ state }) => (check.isIdle = isIdle(state)),
    // The next heartbeat checks again.
    () => idleChecks.delete(feed),
  );
  return null;
}

/** Returns true if a turn runs and does not wait for a user. */
function isIdle(state: SessionState): boolean {
  const turn = state.turns.last();
  return turn !== undefined && turn.status === "running" && !waitsForUser(turn);
}

function waitsForUser(turn: Turn): boolean {
  if (turn.status !== "running") return false;
  return listBlocks(turn).some((block) => "version" in block && isPending(block) && !outlivesTurn(block));
}

/** Returns the cursor directly before a seq, with the epoch of the event at that position. */
async function findCursorBefore({ context, ref }: SessionFeed, seq: number): Promise<Cursor> {
  if (seq <= 1) return START_CURSOR;
  // Read this first. In the other order, events that are archived in between would be in neither.
  const { archived: from } = await context.store.archive.header(ref);
  const [archived] = await context.store.archive.events(ref, { after: seq - 2, limit: 1 });
  if (archived !== undefined) return archived.id;
  let last = from;
  while (true) {
    const page = await context.log.read(ref, { after: last });
    if (!page.ok) return last;
    const found = page.entries.find((entry) => entry.seq === seq - 1);
    if (found !== undefined) return found.cursor;
    if (!page.more) return last;
    last = page.entries.at(-1)?.cursor ?? last;
  }
}

interface Search<T> {
  /** Searches the existing turns. */
  readonly find: () => Promise<T | null>;
  /** Checks each new entry. Returns "search" if `find` has to search again. */
  readonly match: (entry: LogEntry, before: Position) => T | "search" | null;
}

/** Listens for new entries before it searches the existing ones, so that nothing is missed in between. */
function findOrWait<T extends object>(
  feed: SessionFeed,
  signal: AbortSignal,
  { find, match }: Search<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const settle = (done: () => void): void => {
      unsubscribe();
      signal.removeEventListener("abort", abort);
      done();
    };
    const abort = (): void => settle(() => reject(signal.reason as Error));
    const findNow = (): void => {
      retryWhileUnavailable(find, feed.context.sleep, signal).then(
        (found) => found !== null && settle(() => resolve(found)),
        (error: unknown) => settle(() => reject(error)),
      );
    };
    const unsubscribe = feed.addListener({
      onEntry: (entry, before) => {
        try {
          const found = match(entry, before);
          if (found === "search") findNow();
          else if (found !== null) settle(() => resolve(found));
        } catch (error) {
          settle(() => reject(error));
        }
      },
      onReset: findNow,
      onEnd: (reason) =>
        settle(() =>
          reject(
            new StoreError(reason === "gone" ? "NOT_FOUND" : "UNAVAILABLE", `session ${feed.ref.session}`),
          ),
        ),
    });
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    void feed.ready().then(findNow);
  });
}
