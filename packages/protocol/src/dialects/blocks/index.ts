/**
 * `blocks` is the dialect for clients that append content blocks: JSON over WebSocket or SSE.
 * Invariant: everything that `cannotCarry` does not list can be decoded from the frames. The entry loads no schema
 * library at run time.
 */
import type { SessionState } from "../../state.ts";
import type { Dialect } from "../dialect.ts";
import { encodeBlocks } from "./encode.ts";
import type { BlocksFrame } from "./frames.ts";

export const blocks: Dialect<SessionState, BlocksFrame> = {
  name: "blocks",
  cannotCarry: [
    "ids and indexes of blocks and groups, and the times of blocks (a decoder assigns its own)",
    "the name of the turn's agent, its model, number and language, and what it resumes or retries",
    "the template of a notice: its kind, code and details are carried",
    "a tool call before its arguments are complete, and a result before it is complete",
    "the parts of a result beyond the first 500 characters of its preview, and references",
    "hidden blocks, and thinking in a turn whose mode is chat",
    "labels and usage of runs; usage of results and turns; structured results; a sub-agent before its first block",
    "who wrote a message or made a decision; names, types and sizes of message files",
    "which of several files a progress message is about; the tool call behind a text, form or payment",
    "that a queued message was withdrawn or was the answer to a question, before the next reload",
    "a replay of a turn that has ended: a decoder ignores it",
  ],
  attach: (state) => state,
  encode: encodeBlocks,
};

export { eachResyncFrame } from "./encode.ts";
export type { BlocksFrame, BlocksFrameOf } from "./frames.ts";
export { type BlocksHistory, type HistoryMessage, toHistory, toHistoryMessages } from "./history.ts";
