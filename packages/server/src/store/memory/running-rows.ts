/**
 * `RUNNING` is the table of running turns in memory, for the sub-ports of running turns and of jobs. `runningOf` and
 * `putRunning` read and change its rows.
 *
 * Invariant: a session has one running turn, under one key. Exactly one of these is true for it: a process runs it
 * (`executor`), a job is queued or fetched for it (`job` without `executor`), or it is parked (neither).
 */
import type { UserMessage } from "@turnstream/protocol";
import type { SessionRef } from "../../util/refs.ts";
import type { RunningTurn } from "../ports/running.ts";
import type { StoredTurnCaller } from "../rules/running.ts";
import { sessionRow } from "./session-rows.ts";
import { type Rows, sessionTable } from "./tables.ts";

/** JSON is stored as text; see `session-rows.ts`. */
export interface RunningRow
  extends Omit<RunningTurn, "user" | "message" | "options" | "usageLimits">, StoredTurnCaller {
  readonly message: UserMessage | null;
  readonly options: string | null;
  readonly used: { readonly tokens: number; readonly micros: number };
  /** The newest entry of its journal at its last attempt. */
  readonly journaled: number;
  readonly agent: string | null;
  /** The job that is queued for it, or that its process fetched. */
  readonly job: string | null;
  readonly executor: string | null;
  readonly rank: number | null;
  /** True if its process must run no other turn. */
  readonly alone: boolean;
  /** See `suspicionOf`. */
  readonly suspicion: number;
  /** True from `park` until the next start. */
  readonly isParked: boolean;
  readonly wakeAt: number | null;
}

export const RUNNING = sessionTable<RunningRow>("running_turns");
/** A session has at most one running turn and one job, under this key. */
export const ONLY = "only";

export function runningOf(rows: Rows, ref: SessionRef): RunningRow | undefined {
  return sessionRow(rows, ref) === undefined ? undefined : rows.get(RUNNING, ref, ONLY);
}

export function putRunning(rows: Rows, row: RunningRow): RunningRow {
  rows.put(RUNNING, row, ONLY, row);
  return row;
}
