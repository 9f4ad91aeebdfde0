/**
 * `outputText` computes the output text of a turn in the `responses` dialect: the text of the main agent, without tool
 * tags. A blank line separates blocks.
 * Invariant: the streamed deltas of `extendOutput` and `endOutput` add up to exactly the text of `outputText`.
 * `outputTextAt` computes the progress from the state, so a stream can resume at any position.
 */
import { isMain } from "../../turn-queries.ts";
import { listBlocks, type SessionState, type TextBlock, type Turn } from "../../state.ts";
import { emptyTagScanner, stripChunk, stripEnd, stripToolTags, type TagScanner } from "./tool-tags.ts";

const BETWEEN_BLOCKS = "\n\n";

/** Progress of the output text. It follows from the state, so a client can resume at any position. */
export interface OutputText {
  readonly scanner: TagScanner;
  /** Whether any text of the open block, and of earlier blocks of the turn, was sent. */
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

/** Returns the whole text of a turn, the value of `final_text`. */
export function outputText(turn: Turn, withTags: boolean): string {
  const texts = textsOf(turn).map((block) => shown(block.text, withTags));
  return texts.filter((text) => text !== "").join(BETWEEN_BLOCKS);
}

/** Computes the progress of the text in the newest turn of a session. */
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
  /** The text to send; can be empty. */
  readonly delta: string;
}

export function extendOutput(at: OutputText, text: string, withTags: boolean): OutputStep {
  if (withTags) return emit(at, at.scanner, text);
  const { scanner, text: visible } = stripChunk(at.scanner, text);
  return emit(at, scanner, visible);
}

/** Ends a block. A buffered `<` that did not become a tag is sent as text. */
export function endOutput(at: OutputText): OutputStep {
  const step = emit(at, emptyTagScanner, stripEnd(at.scanner));
  return { ...step, at: { ...nothing, inTurn: step.at.inTurn || step.at.inBlock } };
}

function emit(at: OutputText, scanner: TagScanner, text: string): OutputStep {
  if (text === "") return { at: { ...at, scanner }, delta: "" };
  const between = at.inTurn && !at.inBlock ? BETWEEN_BLOCKS : "";
  return { at: { ...at, scanner, inBlock: true }, delta: between + text };
}
