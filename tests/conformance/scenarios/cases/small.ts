/** Inputs for the small vectors: cursors, partial JSON, tool tags. The script computes the results. */
import type { Json } from "@turnstream/protocol";

export const GOOD_CURSORS = ["0-0", "0-1", "1-1", "7-12", "10-9", "1-999999999999999", "999999999999999-0"];

/** Includes texts that the number and pattern functions of other languages accept. */
export const BAD_CURSORS: readonly Json[] = [
  "",
  "-",
  "1",
  "1-",
  "-1",
  "1--1",
  "1-1-1",
  "01-1",
  "1-01",
  "00-0",
  "+1-1",
  "1-+1",
  " 1-1",
  "1-1 ",
  "1-1\n",
  "1 - 1",
  "1_0-1",
  "1.0-1",
  "1e3-1",
  "0x1-1",
  "a-b",
  "$",
  "1-1000000000000000",
  "1000000000000000-1",
  "1-9007199254740991",
  "1-99999999999999999999",
  "1–1",
  "١-١",
  "１-１",
  null,
  true,
  11,
  [],
  ["1-1"],
  {},
];

export const CURSOR_PAIRS: readonly (readonly [string, string])[] = [
  ["1-1", "1-1"],
  ["1-1", "1-2"],
  ["1-9", "1-10"],
  ["9-1", "10-1"],
  ["1-500", "2-1"],
  ["2-1", "1-500"],
  ["0-0", "1-1"],
  ["1-999999999999998", "1-999999999999999"],
  ["garbage", "0-0"],
  ["garbage", "1-"],
];

interface Chunked {
  readonly name: string;
  readonly chunks: readonly string[];
}

export const PARTIAL_JSON: readonly Chunked[] = [
  { name: "no text at all", chunks: [] },
  { name: "an object in one piece", chunks: ['{"a":1,"b":[true,null]}'] },
  { name: "an object in pieces", chunks: ['{"ci', 'ty":"Hu', 'ế","da', 'ys":1', "2}"] },
  { name: "a key shows once its value has started", chunks: ['{"a"', ":", ' "', "x", '"', "}"] },
  { name: "a number shows when it can't go on", chunks: ["[1", "2", ",-", "0.5", "e2", "]"] },
  { name: "a literal shows when it is whole", chunks: ["[tr", "ue,fal", "se,nul", "l", "]"] },
  { name: "escapes cut in two", chunks: ['["a\\', "nb\\u00", "e9\\ud83d\\", 'ude00"', "]"] },
  { name: "a surrogate pair cut in two", chunks: ['["\ud83d', '\ude00"]'] },
  { name: "half a surrogate pair", chunks: ['{"half":"\\ud83d', '"}'] },
  {
    name: "nested, cut at brackets",
    chunks: ['{"a":', "[{", '"b":', "[", "1", "]", "}", ",", "{}", "]", "}"],
  },
  { name: "__proto__ is a key like any other", chunks: ['{"__proto__":', '{"x":1},"constr', 'uctor":2}'] },
  { name: "the last of two equal keys counts", chunks: ['{"a":1,', '"a":2', "}"] },
  { name: "white space between", chunks: ["\n { ", '\t"a"', " : ", "1 ", "}\r\n"] },
  { name: "a number at the top", chunks: ["4", "2"] },
  { name: "a string at the top", chunks: ['"he', 'llo"'] },
  { name: "null at the top", chunks: ["nu", "ll"] },
  { name: "cut off in a string", chunks: ['{"query":"pho', " hà nộ"] },
  { name: "cut off after a key", chunks: ['{"a":1,"b', '"'] },
  { name: "broken: the value stays as it was", chunks: ['{"a":1,', "b:2}", '"c":3}'] },
  { name: "broken: a line break in a string", chunks: ['{"a":"x\n', 'y"}'] },
  { name: "broken: an unknown escape", chunks: ['["ok","\\x', '41"]'] },
  { name: "broken: a wrong bracket ends no number", chunks: ["[12", "}"] },
  { name: "broken: more after the value", chunks: ["{}", "{}"] },
  { name: "broken: a leading zero", chunks: ["[0", "1]"] },
  { name: "not JSON", chunks: ["city", "=Huế"] },
];

export const TOOL_TAGS: readonly Chunked[] = [
  { name: "no tag", chunks: ["Xin ", "chào 👋"] },
  { name: "a span in one piece", chunks: ['a <tool name="x">secret</tool>b'] },
  { name: "a span cut everywhere", chunks: "a<tool>b</tool>c".split("") },
  { name: "two spans", chunks: ["<tool>1</tool", ">x<tool a='1'>2</", "tool>y"] },
  { name: "an empty span", chunks: ["a<tool name='x'/", ">b"] },
  { name: "a slash that is not at the end", chunks: ["a<tool /x>b</tool>c"] },
  { name: "> inside quotes", chunks: ['a<tool q="1 > ', '0">b</tool>c'] },
  { name: "white space in the closing tag", chunks: ["a<tool>b</tool", " \n>c"] },
  { name: "not closed by something longer", chunks: ["a<tool>b</tools>c</tool>d"] },
  { name: "< that is no tag", chunks: ["1 <", " 2 <", "3"] },
  { name: "a longer name is no tag", chunks: ["a <tool", "box>b</toolbox>"] },
  { name: "upper case is no tag", chunks: ["a <Tool>b</Tool>"] },
  { name: "< inside what began like a tag", chunks: ["a <tool x", "<tool>b</tool>c"] },
  { name: "an incomplete tag at the end is text", chunks: ["a <to", "ol na"] },
  { name: "a span left open stays hidden", chunks: ["a <tool>b", " c </too"] },
  { name: "< inside a span", chunks: ["a<tool>1 < 2 <</tool>b"] },
  { name: "a tag longer than 4096 is none", chunks: [`a<tool ${"x".repeat(4100)}>b</tool>`] },
  { name: "only a span", chunks: ["<tool>", "all", "</tool>"] },
];
