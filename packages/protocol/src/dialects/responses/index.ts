/**
 * `responses` is the dialect for clients that read one answer over SSE: reasoning steps and output text.
 * Invariant: everything that `cannotCarry` does not list can be decoded from the frames. The entry loads no schema
 * library at run time.
 */
import type { Dialect } from "../dialect.ts";
import { attachResponses, encodeResponses, type ResponsesEncoder, type ResponsesOptions } from "./encode.ts";
import type { ResponsesFrame } from "./frames.ts";

export const responses: Dialect<ResponsesEncoder, ResponsesFrame, ResponsesOptions> = {
  name: "responses",
  cannotCarry: [
    "ids, indexes and times of blocks (a decoder assigns its own), and the relative order of step starts and ends",
    "thinking, groups, file processing, hidden blocks, artifacts, references, annotations, parts of results, structured results",
    "which run a step belongs to, and the text of sub-agents",
    "where one text block of the main agent ends and the next starts, for parts and the final text",
    "tool tags in the text, unless requested",
    "that a takeover superseded content: its text stays until `final_text` replaces it, its steps end as cancelled, its errors stay",
    "the text of a stopped notice; type, details and template of an error; the duration of a turn, its mode and language",
    "user messages, and which message a turn answers, resumes or retries; who decided",
  ],
  attach: attachResponses,
  encode: encodeResponses,
};

export type { ResponsesEncoder } from "./encode.ts";
export type { ResponsesFrame, ResponsesFrameOf } from "./frames.ts";
export { outputText } from "./output-text.ts";
export { responsesFromSse, responsesToSse } from "./sse.ts";
