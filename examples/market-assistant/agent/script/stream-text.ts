/** How the scripted model speaks: word by word, at the pace of a real one. Makes parts of a script; never plays them. */
import { script, type ScriptPart } from "@turnstream/server/testing";
import type { Pace } from "../pace.ts";

const WORD_MS = 32;
const THOUGHT_MS = 24;
/** Languages without spaces come in pairs of characters, as tokens do. */
const PIECES = /\s*(?:[\u3000-\u9fff\uff00-\uffef]{1,2}|[^\s\u3000-\u9fff\uff00-\uffef]+)/gu;

export interface TextStreamer {
  readonly think: (text: string) => ScriptPart;
  readonly write: (text: string) => ScriptPart;
  /** Says something in between, outside groups. */
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
