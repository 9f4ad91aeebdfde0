/** `createStreamer` builds script parts that stream token by token at the speed of a real model. Does not play them. */
import { script, type ScriptPart } from "@turnstream/server/testing";
import type { Pace } from "../pace.ts";

const WORD_MS = 32;
const THOUGHT_MS = 24;
/** Languages without spaces are split into pairs of characters, similar to tokens. */
const PIECES = /\s*(?:[\u3000-\u9fff\uff00-\uffef]{1,2}|[^\s\u3000-\u9fff\uff00-\uffef]+)/gu;

export interface TextStreamer {
  readonly think: (text: string) => ScriptPart;
  readonly write: (text: string) => ScriptPart;
  /** Shares a thought between steps, outside groups. */
  readonly share: (thought: string) => ScriptPart;
  readonly wait: (ms: number) => ScriptPart;
}

export function createStreamer({ speed }: Pace): TextStreamer {
  const part = (kind: "text" | "reasoning", text: string, ms: number): ScriptPart => ({
    kind,
    pieces: piecesOf(text),
    paceMs: ms / speed,
    signature: null,
  });
  return {
    think: (text) => part("reasoning", text, THOUGHT_MS),
    write: (text) => part("text", text, WORD_MS),
    share: (thought) =>
      script.toolCall(
        "share_thought",
        { thought },
        { chunks: piecesOf(thought).length, paceMs: WORD_MS / speed },
      ),
    wait: (ms) => script.delay(ms / speed),
  };
}

function piecesOf(text: string): string[] {
  return text.match(PIECES) ?? [text];
}
