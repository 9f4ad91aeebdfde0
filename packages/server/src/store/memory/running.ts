/** Running turns in memory. */
import type { Json, UserMessage } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import type { Running, RunningTurn } from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Ref } from "../refs.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import { checkNewTurn, checkStop } from "../rules/running.ts";
import { newestEntry } from "./journal.ts";
import { requireSession, sessionRow, SESSIONS } from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";
import { takeWaiting, waitingSince } from "./waiting.ts";

/** JSON is kept as text: see session-rows.ts. */
interface RunningRow extends Omit<RunningTurn, "user" | "message" | "options"> {
  readonly message: UserMessage | null;
  readonly options: string | null;
  /** The newest entry of its journal when it was last attempted. */
  readonly journaled: number;
}

const RUNNING = table<RunningRow>("running_turns", "session");
/** A session has one at most. */
const ONLY = "running";

export function memoryRunning(tables: MemoryTables, env: Env): Running {
  return {
    begin: (ref, turn) =>
      tables.run((rows) => {
        const checked = checkNewTurn(turn);
        requireSession(rows, ref);
        if (running(rows, ref) !== undefined) return null;
        const given = { message: null, options: checked.options };
        const taken = checked.retries === null ? takeWaiting(rows, ref) : given;
        if (taken === null) return null;
        const { tenant, session } = ref;
        const unattempted = { attempts: 0, fruitless: 0, journaled: 0 };
        const row = {
          tenant,
          session,
          ...checked,
          ...taken,
          begunAt: env.now(),
          ...unattempted,
          stop: null,
        };
        return turnOf(rows, put(rows, row));
      }),
    get: (ref) =>
      tables.run((rows) => {
        const row = running(rows, ref);
        return row === undefined ? null : turnOf(rows, row);
      }),
    attempt: (ref, turn) =>
      tables.run((rows) => {
        const row = running(rows, ref);
        if (row?.turn !== turn) return null;
        const journaled = newestEntry(rows, ref, turn);
        const fruitless = journaled > row.journaled ? 1 : row.fruitless + 1;
        return turnOf(rows, put(rows, { ...row, attempts: row.attempts + 1, fruitless, journaled }));
      }),
    forgive: (ref, { turn, attempts }) =>
      tables.run((rows) => {
        const row = running(rows, ref);
        if (row?.turn === turn && row.attempts === attempts && row.fruitless > 0)
          put(rows, { ...row, fruitless: row.fruitless - 1 });
      }),
    requestStop: (ref, stop) =>
      tables.run((rows) => {
        const { turn, by } = checkStop(stop);
        const row = running(rows, ref);
        if (row === undefined || (turn !== null && row.turn !== turn)) return { receipt: "over", turn: null };
        if (row.stop !== null) return { receipt: "already", turn: row.turn };
        put(rows, { ...row, stop: { by, at: env.now() } });
        return { receipt: "stopping", turn: row.turn };
      }),
    end: (ref, turn) =>
      tables.run((rows) => running(rows, ref)?.turn === turn && rows.remove(RUNNING, ref.session, ONLY)),
    unattempted: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        return rows
          .all(RUNNING)
          .filter(({ attempts, begunAt }) => attempts === 0 && begunAt <= before)
          .toSorted((a, b) => a.begunAt - b.begunAt)
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((row) => turnOf(rows, row));
      }),
    stopping: ({ limit }) =>
      tables.run((rows) =>
        rows
          .all(RUNNING)
          .filter(({ stop }) => stop !== null)
          .toSorted((a, b) => (a.stop?.at ?? 0) - (b.stop?.at ?? 0))
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((row) => turnOf(rows, row)),
      ),
    startable: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        return rows
          .all(SESSIONS)
          .map(({ tenant, id }): Ref => ({ tenant, session: id }))
          .filter((ref) => running(rows, ref) === undefined)
          .flatMap((ref) => {
            const since = waitingSince(rows, ref);
            return since === null || since.at > before ? [] : [{ ref, since }];
          })
          .toSorted((a, b) => a.since.at - b.since.at || a.since.n - b.since.n)
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map(({ ref }) => ref);
      }),
  };
}

function running(rows: Rows, ref: Ref): RunningRow | undefined {
  return sessionRow(rows, ref) === undefined ? undefined : rows.get(RUNNING, ref.session, ONLY);
}

function put(rows: Rows, row: RunningRow): RunningRow {
  rows.put(RUNNING, row.session, ONLY, row);
  return row;
}

function turnOf(rows: Rows, row: RunningRow): RunningTurn {
  const { user } = requireSession(rows, row);
  const { journaled: _, ...turn } = row;
  return { ...turn, user, options: row.options === null ? null : (JSON.parse(row.options) as Json) };
}

/** Whoever sent its message or wanted it stopped, nobody is named any more. */
export function forgetInRunning(rows: Rows, session: string, user: string): void {
  const row = rows.get(RUNNING, session, ONLY);
  if (row === undefined) return;
  const message = row.message?.by === user ? { ...row.message, by: null } : row.message;
  const stop = row.stop?.by === user ? { ...row.stop, by: null } : row.stop;
  put(rows, { ...row, message, stop });
}
