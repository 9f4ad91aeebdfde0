/**
 * `readTurnResult` returns the end state of a turn's task, including the content that the model read. Reads only.
 *
 * Invariant: the caller must check that the request comes from the owner of the session. `CALL_PREFIX` must equal the
 * one in `engine/attempt/journal-keys.ts`.
 */
import { findToolResult, mainRun } from "@turnstream/protocol";
import { type TaskEndState, taskEndState } from "@turnstream/protocol/tasks";
import type { SessionRef } from "../../util/refs.ts";
import { modelContentParts, type ModelContent } from "./model-content.ts";
import { referenceTo, resolveResult } from "./result-reference.ts";
import type { Backend } from "../backend.ts";
import { readTurn } from "./turn-pages.ts";

/** The journal prefix under which the runtime stores results of calls. */
const CALL_PREFIX = "call/";

/**
 * @param task the call that started a sub-agent. Default: the task of the turn itself
 * @returns null if there is no such task
 */
export async function readTurnResult(
  backend: Backend,
  ref: SessionRef,
  { turn: id, task }: { readonly turn: string; readonly task?: string },
): Promise<TaskEndState | null> {
  const turn = await readTurn(backend, ref, id);
  const run = task === undefined ? turn && mainRun(turn) : turn?.runs.findLast(({ call }) => call === task);
  if (turn === null || run === undefined || run === null) return null;
  // The outcomes of the last tools can be committed with the end of the turn, which users see before. Their events then
  // have all of them. Read this before the entries, which are complete if the turn doesn't run any more.
  const isEnding = turn.status !== "running" && (await backend.store.running.get(ref))?.turn === id;
  const entries = await backend.store.journal.retained(ref, [id]);
  const records = new Map(entries.map(({ key, value }) => [key, value]));
  return taskEndState(turn, run, (call) => {
    const result = findToolResult(turn, call);
    const isShown = isEnding && result !== undefined && result.status !== "cancelled";
    const stored = records.get(`${CALL_PREFIX}${call}`) ?? (isShown ? referenceTo(result) : undefined);
    const record = stored === undefined ? undefined : resolveResult(stored, result);
    return record === undefined ? null : modelContentParts(record as ModelContent);
  });
}
