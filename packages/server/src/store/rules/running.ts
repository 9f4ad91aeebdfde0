/**
 * `checkRetry`, `checkJournalEntries` and the other checks validate running turns and the journal: ids, epochs, and
 * JSON that fits one row. Pure.
 *
 * Invariant: both stores store exactly the JSON text that these checks return. A value above its limit fails with
 * TOO_LARGE and is never truncated.
 */
import type { Json } from "@turnstream/protocol";
import { StoreError } from "../errors.ts";
import type { JournalEntry, NewJournalEntry, TurnCaller } from "../ports/running.ts";
import type { TurnRetry } from "../ports/turn-queue.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkCount, checkId } from "./arguments.ts";
import { COST_UNIT } from "./limits.ts";

const MAX_OPTIONS_BYTES = 64_000;
/** Larger values belong into a blob. */
const MAX_JOURNAL_BYTES = 16 * 1024 * 1024;
const MAX_RETAINED_TURNS = 1_000;

/** @returns the options as JSON, or null for none */
export function checkOptions(options: Json | undefined): string | null {
  return options === undefined || options === null ? null : checkJson(options, "options", MAX_OPTIONS_BYTES);
}

/** What is stored about the request behind a turn. The limits are JSON. */
export interface StoredTurnCaller {
  readonly apiKey: string | null;
  readonly usageLimits: string | null;
}

export function checkTurnCaller({ apiKey = null, usageLimits }: Partial<TurnCaller>): StoredTurnCaller {
  return {
    apiKey: apiKey === null ? null : checkId(apiKey, "apiKey"),
    usageLimits: checkOptions(usageLimits),
  };
}

export function checkRetry({ turn, retries, options, ...caller }: TurnRetry): StoredTurnCaller & {
  readonly turn: string;
  readonly retries: string;
  readonly options: string | null;
} {
  return {
    turn: checkId(turn, "turn"),
    retries: checkId(retries, "retries"),
    options: checkOptions(options),
    ...checkTurnCaller(caller),
  };
}

/** Entries of one turn under one epoch, with their values as JSON. */
export interface CheckedEntries {
  readonly turn: string;
  readonly epoch: number;
  readonly executor: string | null;
  readonly after: readonly string[];
  readonly entries: readonly CheckedEntry[];
}

interface CheckedEntry {
  readonly key: string;
  readonly value: string;
  readonly isRetained: boolean;
  /** The tokens and the cost in millionths that the entry adds, or null. */
  readonly used: { readonly tokens: number; readonly micros: number } | null;
}

/** @returns null if there are none */
export function checkJournalEntries(entries: readonly NewJournalEntry[]): CheckedEntries | null {
  const [first] = entries;
  if (first === undefined) return null;
  const turn = checkId(first.turn, "turn");
  const epoch = checkCount(first.epoch, "epoch");
  const executor = first.executor === undefined ? null : checkId(first.executor, "executor");
  const isOther = (entry: NewJournalEntry): boolean =>
    entry.turn !== turn || entry.epoch !== epoch || entry.executor !== first.executor;
  if (entries.some(isOther))
    throw new StoreError(
      "INVALID",
      "journal entries that are written together must have one turn, one epoch and one executor",
    );
  const after = entries.flatMap((entry) => entry.after ?? []).map((key) => checkId(key, "journal key"));
  return { turn, epoch, executor, after: [...new Set(after)], entries: entries.map(checkJournalEntry) };
}

/** The epoch and the process of a session, as they are or as a caller knows them. */
interface Fence {
  readonly epoch: number;
  readonly executor: string | null;
}

/**
 * @param caller its process is null if any may be the caller
 * @throws StoreError with FENCED if a higher epoch than that of the caller was issued, or if the process of the caller
 *   doesn't run the turn under its epoch
 */
export function checkFence(ref: SessionRef, current: Fence, { epoch, executor }: Fence): void {
  const isRefused =
    executor === null ? current.epoch > epoch : current.executor !== executor || current.epoch !== epoch;
  if (isRefused) throw fencedError(ref, epoch);
}

export function fencedError({ session }: SessionRef, epoch: number): StoreError {
  return new StoreError("FENCED", `session ${session}, epoch ${epoch}`);
}

/** @returns the keys and the new values as JSON */
export function checkShortened(
  entries: readonly JournalEntry[],
): readonly Pick<CheckedEntry, "key" | "value">[] {
  return entries.map(({ key, value }) => ({
    key: checkId(key, "journal key"),
    value: checkJson(value, "journal value", MAX_JOURNAL_BYTES),
  }));
}

function checkJournalEntry({ key, value, isRetained = false, used }: NewJournalEntry): CheckedEntry {
  return {
    key: checkId(key, "journal key"),
    value: checkJson(value, "journal value", MAX_JOURNAL_BYTES),
    isRetained,
    used:
      used === undefined
        ? null
        : {
            tokens: checkCount(used.tokens, "journal used tokens"),
            micros: checkCount(Math.round(used.cost * COST_UNIT), "journal used cost in millionths"),
          },
  };
}

export function checkRetainedTurns(turns: readonly string[]): readonly string[] {
  if (turns.length <= MAX_RETAINED_TURNS) return turns;
  throw new StoreError("INVALID", `turns must have at most ${MAX_RETAINED_TURNS} elements`);
}

export function checkSessions(sessions: readonly SessionRef[]): void {
  if (sessions.length > MAX_BATCH)
    throw new StoreError(
      "INVALID",
      `sessions must have at most ${MAX_BATCH} elements, got ${sessions.length}`,
    );
}

/** Converts absent fields to null: a stop of any turn, or by no particular user. */
export function checkStop(stop: { readonly turn?: string; readonly by?: string }): {
  readonly turn: string | null;
  readonly by: string | null;
} {
  return {
    turn: stop.turn === undefined ? null : checkId(stop.turn, "turn"),
    by: stop.by === undefined ? null : checkId(stop.by, "by"),
  };
}

function checkJson(value: Json, name: string, most: number): string {
  // `JSON.stringify` returns undefined for values that are not JSON, such as a function.
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new StoreError("INVALID", `${name} must be JSON`);
  if (Buffer.byteLength(json) > most) throw new StoreError("TOO_LARGE", name);
  return json;
}
