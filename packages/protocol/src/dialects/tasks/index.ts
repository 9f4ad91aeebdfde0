/**
 * `tasks` is the dialect for clients that show nested tasks with output items.
 * Invariant: everything that `cannotCarry` does not list can be decoded from the frames. The entry loads no schema
 * library at run time.
 */
import type { SessionState } from "../../state.ts";
import type { Dialect } from "../dialect.ts";
import { encodeTasks } from "./encode.ts";
import type { TasksFrame } from "./frames.ts";

export const tasks: Dialect<SessionState, TasksFrame> = {
  name: "tasks",
  cannotCarry: [
    "ids and indexes of blocks (a decoder assigns its own), and the times of blocks",
    "the order of items of different tasks",
    "groups and their summaries",
    "questions, forms and payments, and their outcomes; the approval of a hidden call, and the position of an approval among the blocks; file processing",
    "user messages and the session's title and number",
    "the turn's model, number, language, share mark, and which message it answers, resumes or retries",
    "hidden blocks, and thinking in a turn whose mode is chat",
    "whether a result with one text part had it as a part or only as its preview; how many images came before the last",
    "labels and names on results, structured results, labels of runs, usage of the main run, who stopped a turn, the tool call behind a text",
  ],
  attach: (state) => state,
  encode: encodeTasks,
};

export type { TasksFrame, TasksFrameOf } from "./frames.ts";
export { taskEndState, type TaskEndState } from "./end-state.ts";
