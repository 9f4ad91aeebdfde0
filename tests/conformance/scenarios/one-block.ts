/**
 * Computes what one streamed block shows after each chunk, with public functions only: the arguments of a tool call,
 * and a text in the `responses` dialect. The vectors are written and verified with it.
 */
import {
  type SessionEvent,
  findTurn,
  currentInput,
  type Json,
  type SessionState,
} from "@turnstream/protocol";
import { outputText, responses } from "@turnstream/protocol/responses";
import { stripToolTags } from "../../../packages/protocol/src/dialects/responses/tool-tags.ts";
import { Story } from "./story.ts";

function callBlock(state: SessionState, turn: string): Parameters<typeof currentInput>[0] {
  const block = findTurn(state, turn)?.items.last();
  if (block?.kind !== "tool_call") throw new Error("the call is not there");
  return block;
}

export function argumentsOf(chunks: readonly string[]): { partial: Json[]; input: Json } {
  const log = new Story().session().begin("Go");
  const on = log.place();
  log.add({ type: "tool_call.start", ...on, call: "call_1", name: "t", label: "" });
  const partial = chunks.map((args) => {
    log.add({ type: "tool_call.delta", ...on, args });
    return currentInput(callBlock(log.state, log.turn));
  });
  log.add({ type: "tool_call.end", ...on });
  return { partial, input: currentInput(callBlock(log.state, log.turn)) };
}

export function releasedBy(chunks: readonly string[]): { released: string[]; at_end: string; text: string } {
  const log = new Story().session().begin("Go");
  const on = log.place();
  let encoder = responses.attach(log.state);
  const deltaOf = (event: SessionEvent): string => {
    const step = responses.encode(encoder, event);
    encoder = step.encoder;
    return step.frames.map((frame) => ("delta" in frame ? frame.delta : "")).join("");
  };
  deltaOf(log.add({ type: "text.start", ...on, part: false }));
  const released = chunks.map((text) => deltaOf(log.add({ type: "text.delta", ...on, text })));
  const at_end = deltaOf(log.add({ type: "text.end", ...on, final: true }));
  const turn = findTurn(log.state, log.turn);
  const text = turn === undefined ? "" : outputText(turn, false);
  if (text !== stripToolTags(chunks.join(""))) throw new Error("two ways to take out tool tags differ");
  return { released, at_end, text };
}
