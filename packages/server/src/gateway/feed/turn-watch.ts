/** Waiting for turns to begin and to end, on top of a feed: what is there already counts too. */
import {
  listBlocks,
  type Cursor,
  findTurn,
  formatCursor,
  isPending,
  outlivesTurn,
  type Position,
  restoreTurn,
  START_CURSOR,
  type SessionState,
  type Turn,
} from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import { readHistory } from "../../session/history/read-history.ts";
import { StoreError } from "../../store/errors.ts";
import type { SessionFeed } from "./session-feed.ts";
import { patiently } from "./retry-while-unavailable.ts";

export interface TurnStarted {
  readonly turn: string;
  /** The position right before its first event: subscribe after it. */
  readonly before: Cursor;
}

export interface TurnEnded {
  readonly turn: Turn;
  /** The session as it was then. */
  readonly state: SessionState;
}

/** How far back a turn is looked for that began before anybody looked. */
const TURNS = 20;

/** What can become of a message. */
const BEGINNINGS = ['"turn.start"', '"question.update"', '"message.remove"'];

/** How many pages of them: who asks for a message that is older than that is told that there is none. */
const PAGES = 50;

/** Throws NOT_FOUND when the message is withdrawn, or there is none. */
export function waitForTurnStart(
  feed: SessionFeed,
  message: string,
  signal: AbortSignal,
): Promise<TurnStarted> {
  return lookAndWait(feed, signal, {
    look: () => findBegun(feed, message),
    seen: (entry, before) => {
      if (!BEGINNINGS.some((type) => entry.mightContain(type))) return null;
      const { event } = entry;
      if (!("message" in event) || event.message !== message || event.type === "message.add") return null;
      if (event.type === "message.remove") throw new StoreError("NOT_FOUND", `message ${message}`);
      return "turn" in event ? { turn: event.turn, before: formatCursor(before) } : null;
    },
  });
}

/** Null while it waits. */
async function findBegun(feed: SessionFeed, message: string): Promise<TurnStarted | null> {
  const { parts, ref } = feed;
  const { state } = await readHistory(parts, ref, { turns: TURNS });
  const found = await begunIn(feed, state.turns.toArray().toReversed(), message);
  if (found !== null) return found;
  if (state.waiting.some(({ id }) => id === message)) return null;
  // Asked first: what is not to come then, is archived when the turns are read.
  const isToCome = !state.settled.includes(message) && (await mayCome(feed, message));
  let before: number | undefined;
  for (let page = 0; page < PAGES; page++) {
    const records = await parts.store.turns.list(ref, {
      limit: TURNS,
      ...(before === undefined ? {} : { before }),
    });
    const older = await begunIn(
      feed,
      records.map(({ snapshot }) => restoreTurn(snapshot)),
      message,
    );
    if (older !== null) return older;
    before = records.at(-1)?.start;
    if (before === undefined) break;
  }
  if (isToCome) return null;
  throw new StoreError("NOT_FOUND", `message ${message}`);
}

/** Whether the log has yet to tell of a message: it waits, or the turn that runs has taken it, or asked for it. */
async function mayCome({ parts: { store }, ref }: SessionFeed, message: string): Promise<boolean> {
  if ((await store.queuedMessages.list(ref)).some(({ id }) => id === message)) return true;
  return (await store.running.get(ref)) !== null;
}

/**
 * A message that was the answer to a question begins no turn: the one that asked goes on, from where the answer came.
 * @param turns the newest first
 */
async function begunIn(
  feed: SessionFeed,
  turns: readonly Turn[],
  message: string,
): Promise<TurnStarted | null> {
  for (const turn of turns) {
    if (turn.message?.id === message) return { turn: turn.id, before: await cursorBefore(feed, turn.start) };
    for (const block of listBlocks(turn))
      if (block.kind === "question" && block.message === message)
        return { turn: turn.id, before: await cursorBefore(feed, block.changed) };
  }
  return null;
}

export async function waitForTurnEnd(feed: SessionFeed, id: string, signal: AbortSignal): Promise<TurnEnded> {
  const look = async (): Promise<TurnEnded | null> => {
    const { state } = await readHistory(feed.parts, feed.ref, { turns: TURNS });
    const turn = findTurn(state, id) ?? (await archivedTurn(feed, id));
    return turn === null || turn.status === "running" ? null : { turn, state };
  };
  while (true) {
    const found = await lookAndWait<TurnEnded | "ended">(feed, signal, {
      look,
      seen: (entry) =>
        entry.mightContain('"turn.end"') && entry.event.type === "turn.end" && entry.event.turn === id
          ? "ended"
          : null,
    });
    const ended = found === "ended" ? await look() : found;
    if (ended !== null) return ended;
  }
}

async function archivedTurn({ parts, ref }: SessionFeed, id: string): Promise<Turn | null> {
  const record = await parts.store.turns.get(ref, id);
  return record === null ? null : restoreTurn(record.snapshot);
}

/** What was found of a silence, until the next event. */
const looked = new WeakMap<SessionFeed, { readonly since: number; isSilent: boolean }>();

/** Looks into the session only once a silence has lasted, and once for each. */
export function idleSince(feed: SessionFeed, leastMs: number): number | null {
  const { lastAt: since } = feed;
  if (since === null || performance.now() - since < leastMs) return null;
  if (feed.headState !== null) return isSilent(feed.headState) ? since : null;
  const known = looked.get(feed);
  if (known?.since === since) return known.isSilent ? since : null;
  const look = { since, isSilent: false };
  looked.set(feed, look);
  readHistory(feed.parts, feed.ref, { turns: 1 }).then(
    ({ state }) => (look.isSilent = isSilent(state)),
    // It is looked for again at the next beat.
    () => looked.delete(feed),
  );
  return null;
}

/** Whether a turn runs that waits for nobody. */
function isSilent(state: SessionState): boolean {
  const turn = state.turns.last();
  if (turn === undefined || turn.status !== "running") return false;
  return !listBlocks(turn).some((block) => "version" in block && isPending(block) && !outlivesTurn(block));
}

/** The position right before a seq: its epoch is that of the event there. */
async function cursorBefore({ parts, ref }: SessionFeed, seq: number): Promise<Cursor> {
  if (seq <= 1) return START_CURSOR;
  const [archived] = await parts.store.archive.events(ref, { after: seq - 2, limit: 1 });
  if (archived !== undefined) return archived.id;
  const { archived: from } = await parts.store.archive.header(ref);
  let last = from;
  while (true) {
    const page = await parts.log.read(ref.session, { after: last });
    if (!page.ok) return last;
    const found = page.entries.find((entry) => entry.seq === seq - 1);
    if (found !== undefined) return found.cursor;
    if (!page.more) return last;
    last = page.entries.at(-1)?.cursor ?? last;
  }
}

interface Wanted<T> {
  /** In what is there. */
  readonly look: () => Promise<T | null>;
  /** In what comes. */
  readonly seen: (entry: LogEntry, before: Position) => T | null;
}

/** Looks at what comes and at what is there, in this order: nothing falls between the two. */
function lookAndWait<T>(feed: SessionFeed, signal: AbortSignal, { look, seen }: Wanted<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const finish = (done: () => void): void => {
      unwatch();
      signal.removeEventListener("abort", abort);
      done();
    };
    const abort = (): void => finish(() => reject(signal.reason as Error));
    const lookNow = (): void => {
      patiently(look, feed.parts.pause, signal).then(
        (found) => found !== null && finish(() => resolve(found)),
        (error: unknown) => finish(() => reject(error)),
      );
    };
    const unwatch = feed.addListener({
      onEntry: (entry, before) => {
        try {
          const found = seen(entry, before);
          if (found !== null) finish(() => resolve(found));
        } catch (error) {
          finish(() => reject(error));
        }
      },
      onReset: lookNow,
      onEnd: (reason) =>
        finish(() =>
          reject(
            new StoreError(reason === "gone" ? "NOT_FOUND" : "UNAVAILABLE", `session ${feed.ref.session}`),
          ),
        ),
    });
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    void feed.ready().then(lookNow);
  });
}
