/**
 * `choices` generates the input of a generated log: a list of small choices. fast-check shrinks the list and its
 * numbers. The simulator turns any such list into a valid log.
 */
import fc from "fast-check";

export interface Choice {
  /** Selects one of the moves that are possible at this point. */
  readonly move: number;
  /** Selects the run, block, call or status of the move. */
  readonly which: number;
  /** The text that the move writes. */
  readonly text: string;
}

/** Pieces that are hard to parse: tool tags and similar text, markers, surrogate pairs that a cut can split. */
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
