/**
 * `JournalKey` and the functions beside it define the keys of a turn's journal, and what the engine reads in its entries.
 *
 * Invariant: after a deploy, the code reads journals that the release before wrote. So keys must not change, and a new
 * field must be optional. A key is the same in every attempt. `session/history/turn-result.ts` repeats `CALL_PREFIX`.
 */
import type { RequestBlock, Usage } from "@turnstream/protocol";
import type { TurnOutcome } from "../events/closing-events.ts";

/** A key with the type of its entry. */
export type JournalKey<T> = string & { readonly record?: T };

/** Tokens and cost of model calls. */
export interface UsageRecord {
  readonly usage: Usage;
  readonly model: string;
  /** At the prices of the calling agent. */
  readonly cost: number;
}

/** Work that has written these blocks. A takeover keeps them. */
export interface BlocksEntry {
  readonly blocks: readonly string[];
}

/** A step, with the calls that it requests. */
export interface StepEntry extends BlocksEntry {
  readonly calls: readonly { readonly call: string }[];
}

/** A request that ends the turn, until its block is written. Its kind adds fields. */
export interface EndingRequest {
  readonly kind: RequestBlock["kind"];
  readonly [field: string]: unknown;
}

export const OUTCOME_KEY: JournalKey<TurnOutcome> = "end";
/** The turn has announced that earlier events of the session are lost, in this block. */
export const LOSS_KEY: JournalKey<BlocksEntry> = "loss";
/** The files of the message are read, and this block shows them. */
export const FILES_KEY: JournalKey<BlocksEntry> = "files";
/** A summary of earlier turns. It has blocks and usage. */
export const SUMMARY = "compact";
export const STEP_PREFIX = "step/";
export const USAGE_PREFIX = "spent/";
export const CALL_PREFIX = "call/";
export const START_PREFIX = "start/";
export const FILE_PREFIX = "file/";
/** Later turns read these entries, so that they stay after the end of the turn. */
const RETAINED = [SUMMARY, CALL_PREFIX, START_PREFIX, FILE_PREFIX];

export function isRetained(key: string): boolean {
  return RETAINED.some((prefix) => key.startsWith(prefix));
}

/** Usage that belongs to no journaled step. @param what unique within the path */
export const usageKey = (path: string, what: string): JournalKey<UsageRecord> =>
  `${USAGE_PREFIX}${path}/${what}`;
/** Returns the run's path from a step key or usage key. */
export const runPath = (key: string): string => key.split("/")[1] ?? "";
/** @param id id of the committed request */
export const requestedKey = (id: string): JournalKey<boolean> => `asked/${id}`;
/** The tool of the call may have run, and must not run twice. */
export const startKey = (call: string): JournalKey<boolean> => `${START_PREFIX}${call}`;
