/**
 * `ExactSubscriber` records the position of the feed at each start, and `checkExact` verifies what it received: from
 * there on exactly the frames of its dialect, merged only where a replay may merge.
 */
import {
  fold,
  type SessionEvent,
  type SessionState,
  type Snapshot,
  snapshot,
  START_CURSOR,
} from "@turnstream/protocol";
import { coalesce } from "@turnstream/protocol/writer";
import { framesFrom } from "@turnstream/conformance/support/replay.ts";
import { blocks, eachResyncFrame } from "@turnstream/protocol/blocks";
import { responses } from "@turnstream/protocol/responses";
import { tasks } from "@turnstream/protocol/tasks";
import type { StreamFormat } from "../../src/gateway/encoding/stream-format.ts";
import { omitHiddenEvent, omitHiddenTurn } from "@turnstream/protocol/writer";
import type { SubscribedInfo } from "../../src/gateway/subscription/subscription.ts";
import type { LogHistory } from "./log-history.ts";
import { type Frame, TestSubscriber } from "./test-subscriber.ts";

export const TURNS = 20;

export class ExactSubscriber extends TestSubscriber {
  readonly format: StreamFormat;
  readonly after: string | null;
  left = false;
  /** The position of the feed at each start. */
  readonly heads: string[] = [];
  readonly #head: () => string;

  constructor(
    choice: StreamFormat,
    options: { maxQueued: number; after: string | null; head: () => string },
  ) {
    super(choice, options);
    this.format = choice;
    this.after = options.after;
    this.#head = options.head;
  }

  override onSubscribed(info: SubscribedInfo): void {
    this.heads.push(this.#head());
    super.onSubscribed(info);
  }
}

/** The events as a `native` subscriber receives them that has the state `from`. */
export function visibleEvents(
  { includeHidden }: StreamFormat,
  from: SessionState,
  events: readonly SessionEvent[],
): readonly SessionEvent[] {
  if (includeHidden) return events;
  let state = from;
  return events.map((event) => {
    const visible = omitHiddenEvent(state, event);
    state = fold(state, event);
    return visible;
  });
}

function visibleSnapshot({ includeHidden }: StreamFormat, state: SessionState): Snapshot {
  const whole = snapshot(state, TURNS);
  return includeHidden ? whole : { ...whole, turns: whole.turns.map(omitHiddenTurn) };
}

export interface Counts {
  subscribers: number;
  frames: number;
  merged: number;
  slow: number;
  restarted: number;
  resumed: number;
}

/**
 * Checks the frames that a subscriber received. Throws if they are not exact.
 * @param end the end of the log; a subscriber that has not left has received everything up to there
 */
export function checkExact(
  subscriber: ExactSubscriber,
  session: string,
  logHistory: LogHistory,
  end: string,
  counts: Counts,
): void {
  const check = new Check(subscriber, session, logHistory, counts);
  counts.subscribers++;
  subscriber.starts.forEach((info, n) => {
    const upTo = subscriber.starts[n + 1]?.after ?? subscriber.frames.length;
    check.start(info, subscriber.heads[n] ?? START_CURSOR);
    for (const group of groupsOf(subscriber.frames.slice(info.after, upTo))) check.addFrames(group);
  });
  if (subscriber.end !== null) throw new Error(`ended: ${subscriber.end}`);
  if (!subscriber.left) check.finish(end);
}

/** Groups frames up to each one with a cursor: the frames of one event. */
function groupsOf(frames: readonly Frame[]): Frame[][] {
  const groups: Frame[][] = [];
  let open: Frame[] = [];
  for (const frame of frames) {
    open.push(frame);
    if (cursorOf(frame) === null) continue;
    groups.push(open);
    open = [];
  }
  if (open.length > 0) throw new Error(`no cursor after ${JSON.stringify(open)}`);
  return groups;
}

class Check {
  readonly #subscriber: ExactSubscriber;
  readonly #session: string;
  readonly #logHistory: LogHistory;
  readonly #counts: Counts;
  /** The position up to which it has received everything, or null until the first frame after a restart shows it. */
  #at: string | null;
  #info: SubscribedInfo | null = null;
  #head = START_CURSOR;
  #hasStarted = false;

  constructor(subscriber: ExactSubscriber, session: string, logHistory: LogHistory, counts: Counts) {
    this.#subscriber = subscriber;
    this.#session = session;
    this.#logHistory = logHistory;
    this.#counts = counts;
    this.#at = subscriber.after;
  }

  start(info: SubscribedInfo, head: string): void {
    if (info.resumed && this.#at === null && !this.#hasStarted)
      throw new Error("it resumes without a position");
    // A resumed subscriber has missed nothing since its start, also if there were no frames.
    if (!info.resumed || this.#at !== null) this.#head = head;
    if (!info.resumed) this.#at = null;
    this.#info = info;
    this.#hasStarted = true;
    if (info.reason === "slow") this.#counts.slow++;
    if (info.reason === "expired") this.#counts.restarted++;
    if (info.reason === "cursor") this.#counts.resumed++;
  }

  addFrames(frames: readonly Frame[]): void {
    const info = this.#info;
    this.#info = null;
    this.#counts.frames += frames.length;
    const cursor = cursorOf(frames.at(-1) as Frame) as string;
    if (info === null || !this.#startsWith(info, frames, cursor)) {
      const from = this.#at ?? this.#findStart(cursor);
      this.#expect(frames, this.#frames(from, cursor), `${from} to ${cursor}`);
      if (this.#isMerged(from, cursor)) this.#counts.merged++;
    }
    this.#at = cursor;
  }

  /** Checks that it has received everything up to `end`. */
  finish(end: string): void {
    if (this.#at === null) return this.#checkStart(end);
    const missing = this.#frames(this.#at, end);
    if (missing.length > 0) throw new Error(this.#describe(`it did not receive ${JSON.stringify(missing)}`));
  }

  /** Checks a start that is one group of frames with the current state. */
  #startsWith(info: SubscribedInfo, frames: readonly Frame[], cursor: string): boolean {
    const { format } = this.#subscriber;
    const { dialect } = format;
    const state = this.#logHistory.stateAt(cursor);
    if (dialect === "native" && !info.resumed) {
      const frame = { type: "snapshot", event_id: cursor, snapshot: visibleSnapshot(format, state) };
      this.#expect(frames, [frame], `at ${cursor}`);
      return true;
    }
    if (dialect !== "blocks" || info.reason === "cursor") return false;
    const since = info.resumed ? this.#stateAt(this.#at).seq : 0;
    return this.#isSame(frames, [...eachResyncFrame(state, since)]);
  }

  /**
   * The start position of a restarted subscriber, from its first frames: before a turn, or where no turn was running.
   */
  #findStart(cursor: string): string {
    if (this.#subscriber.format.dialect === "blocks") return START_CURSOR;
    const before = this.#logHistory.before(cursor);
    const from = this.#isRunning(before) ? this.#beforeTurn(cursor) : before;
    // The archive may already know a turn that starts exactly at the position of the feed.
    const [first] = this.#between(from, cursor);
    if (from !== this.#head || first?.type !== "turn.start") this.#checkStart(from);
    return from;
  }

  /** Checks that a restarted subscriber without frames has missed nothing up to `at`. */
  #checkStart(at: string): void {
    const head = this.#head;
    // A wiped log may have continued from before its former end.
    if (this.#logHistory.between(head, at) === null) return;
    const { dialect } = this.#subscriber.format;
    const isWhole =
      dialect === "native" ||
      (dialect === "blocks" && [...eachResyncFrame(this.#stateAt(head), 0)].length > 0);
    const isTurn = dialect === "tasks" || (dialect === "responses" && this.#isRunning(head));
    const missing = this.#frames(isTurn ? this.#beforeTurn(head) : head, at);
    if (isWhole || missing.length > 0)
      throw new Error(this.#describe(`it never received the state at ${at}, ${JSON.stringify(missing)}`));
  }

  #isRunning(cursor: string): boolean {
    return this.#stateAt(cursor).turns.last()?.status === "running";
  }

  /** The position directly before the newest turn. */
  #beforeTurn(cursor: string): string {
    for (let at = cursor; at !== START_CURSOR; at = this.#logHistory.before(at))
      if (this.#logHistory.eventAt(at).type === "turn.start") return this.#logHistory.before(at);
    return START_CURSOR;
  }

  #stateAt(cursor: string | null): SessionState {
    return this.#logHistory.stateAt(cursor ?? START_CURSOR);
  }

  #between(from: string, to: string): SessionEvent[] {
    const events = this.#logHistory.between(from, to);
    if (events === null) throw new Error(this.#describe(`${to} does not come after ${from}`));
    return events;
  }

  #isMerged(from: string, to: string): boolean {
    const events = this.#between(from, to);
    return coalesce(events).length < events.length;
  }

  #frames(from: string, to: string): readonly object[] {
    const events = coalesce(this.#between(from, to));
    const state = this.#stateAt(from);
    const { format } = this.#subscriber;
    switch (format.dialect) {
      case "native":
        return visibleEvents(format, state, events);
      case "blocks":
        return framesFrom(blocks, state, events);
      case "tasks":
        return framesFrom(tasks, state, events);
      case "responses":
        return framesFrom(responses, state, events, { include_tool_tags: format.includeToolTags });
    }
  }

  #expect(got: readonly Frame[], expected: readonly object[], where: string): void {
    if (this.#isSame(got, expected)) return;
    const [a, b] = [JSON.stringify(got), JSON.stringify(expected.map((one) => this.#onWire(one)))];
    throw new Error(this.#describe(`${where}: got ${a}, not ${b}`));
  }

  #isSame(got: readonly Frame[], expected: readonly object[]): boolean {
    return (
      got.length === expected.length &&
      got.every((frame, n) => isEqual(frame, this.#onWire(expected[n] as object)))
    );
  }

  #onWire(frame: object): Frame {
    const { format } = this.#subscriber;
    const isNative = format.dialect === "native" && "id" in frame;
    if (format.wire === "socket" || (frame as Frame)["type"] === "snapshot")
      return { session_id: this.#session, ...frame };
    return isNative ? { ...frame, event_id: frame.id } : { ...frame };
  }

  #describe(problem: string): string {
    const { format, after, starts } = this.#subscriber;
    return `${format.dialect} over ${format.wire} after ${after}, ${JSON.stringify(starts)}: ${problem}`;
  }
}

function cursorOf(frame: Frame): string | null {
  const cursor = frame["event_id"] ?? (frame["v"] === undefined ? undefined : frame["id"]);
  return typeof cursor === "string" ? cursor : null;
}

/** Compares independently of the order of fields. */
function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b) || inOrder(a) === inOrder(b);
}

function inOrder(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
