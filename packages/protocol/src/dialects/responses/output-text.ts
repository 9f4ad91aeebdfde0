/**
 * The output text of a turn in the `responses` dialect: what the main agent wrote, tool tags taken out, one
 * blank line between blocks. Streams it piece by piece and gives it whole; both agree, block by block.
 */
import { isMain } from "../../turn-queries.ts";
import { listBlocks, type SessionState, type TextBlock, type Turn } from "../../state.ts";
import { emptyTagScanner, stripChunk, stripEnd, stripToolTags, type TagScanner } from "./tool-tags.ts";

const BETWEEN_BLOCKS = "\n\n";

/** Where the text stands: it follows from the state, so that a client can resume at any position. */
export interface OutputText {
  readonly scanner: TagScanner;
  /** Whether anything of the open block, and of the turn before it, has been shown. */
  readonly inBlock: boolean;
  readonly inTurn: boolean;
}

const nothing: OutputText = { scanner: emptyTagScanner, inBlock: false, inTurn: false };

function textsOf(turn: Turn): TextBlock[] {
  return listBlocks(turn).filter(
    (block): block is TextBlock => block.kind === "text" && isMain(turn, block.run),
  );
}

function shown(text: string, withTags: boolean): string {
  return withTags ? text : stripToolTags(text);
}

/** The whole text of a turn: what `final_text` says. */
export function outputText(turn: Turn, withTags: boolean): string {
  const texts = textsOf(turn).map((block) => shown(block.text, withTags));
  return texts.filter((text) => text !== "").join(BETWEEN_BLOCKS);
}

/** Where the text of a session's newest turn stands. */
export function outputTextAt(state: SessionState, withTags: boolean): OutputText {
  const turn = state.turns.last();
  if (turn === undefined) return nothing;
  let at = nothing;
  for (const block of textsOf(turn)) {
    if (block.end === null) at = extendOutput(at, block.text, withTags).at;
    else if (shown(block.text, withTags) !== "") at = { ...nothing, inTurn: true };
  }
  return at;
}

export interface OutputStep {
  readonly at: OutputText;
  /** What to send; may be empty. */
  readonly delta: string;
}

export function extendOutput(at: OutputText, text: string, withTags: boolean): OutputStep {
  if (withTags) return emit(at, at.scanner, text);
  const { scanner, text: visible } = stripChunk(at.scanner, text);
  return emit(at, scanner, visible);
}

/** The block has ended: a `<` that was held back is only a `<`. */
export function endOutput(at: OutputText): OutputStep {
  const step = emit(at, emptyTagScanner, stripEnd(at.scanner));
  return { ...step, at: { ...nothing, inTurn: step.at.inTurn || step.at.inBlock } };
}

function emit(at: OutputText, scanner: TagScanner, text: string): OutputStep {
  if (text === "") return { at: { ...at, scanner }, delta: "" };
  const between = at.inTurn && !at.inBlock ? BETWEEN_BLOCKS : "";
  return { at: { ...at, scanner, inBlock: true }, delta: between + text };
}
