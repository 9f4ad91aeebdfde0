/**
 * The end state of a turn's task with what the model read, for the owner of the session (T01). The caller has made sure
 * that it is the owner who asks. Reads only.
 */
import { mainRun } from "@turnstream/protocol";
import { type TaskEndState, taskEndState } from "@turnstream/protocol/tasks";
import type { SessionRef } from "../../store/refs.ts";
import { modelContentParts, type ModelContent } from "./model-content.ts";
import type { Backend } from "../backend.ts";
import { readTurn } from "./turn-pages.ts";

/** Under which key the runtime keeps what a call came to. */
const CALL_PREFIX = "call/";

/** @param task a sub-agent's, by the call that started it; the turn's own when absent. Null when there is none. */
export async function readTurnResult(
  backend: Backend,
  ref: SessionRef,
  { turn: id, task }: { readonly turn: string; readonly task?: string },
): Promise<TaskEndState | null> {
  const turn = await readTurn(backend, ref, id);
  const run = task === undefined ? turn && mainRun(turn) : turn?.runs.findLast(({ call }) => call === task);
  if (turn === null || run === undefined || run === null) return null;
  const entries = await backend.store.journal.retained(ref, [id]);
  const records = new Map(entries.map(({ key, value }) => [key, value as unknown as ModelContent]));
  return taskEndState(turn, run, (call) => {
    const record = records.get(`${CALL_PREFIX}${call}`);
    return record === undefined ? null : modelContentParts(record);
  });
}
