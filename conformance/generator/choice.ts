/**
 * The raw material of a generated log: a list of small choices. fast-check shrinks the list and the numbers
 * in it; the simulator turns any such list into a legal log.
 */
import fc from "fast-check";

export interface Choice {
  /** Which of the moves that are possible at this point. */
  readonly move: number;
  /** Which run, block, call or status the move is about. */
  readonly which: number;
  /** What is written. */
  readonly text: string;
}

/** Pieces that are hard on somebody: tool tags and their look-alikes, markers, pairs that a cut may split. */
const PIECES = [
  "a",
  "word ",
  "<",
  "<tool",
  ' name="x">',
  "hidden</tool>",
  "</to",
  "<toolbox>",
  "[^1]",
  "😀",
  "\ud83d",
  "\ude00",
  "\n",
  "## h\n",
  "\u2028",
  '"',
  "\\",
  "é",
  "thị trường ",
];

const choice: fc.Arbitrary<Choice> = fc.record({
  move: fc.nat(0xffff),
  which: fc.nat(0xff),
  text: fc.array(fc.constantFrom(...PIECES), { minLength: 0, maxLength: 3 }).map((pieces) => pieces.join("")),
});

export function choices(max: number): fc.Arbitrary<Choice[]> {
  return fc.array(choice, { minLength: 1, maxLength: max, size: "max" });
}
