/** Generates random Markdown for property tests (`randomMarkdown`): common syntax, broken syntax and HTML. */
import fc from "fast-check";

const texts = fc.constantFrom(
  "giá",
  "VNM",
  "**đậm**",
  "*nghiêng*",
  "`code`",
  "~~no~~",
  "[a](https://a.example/x)",
  "[a]",
  "[b][a]",
  "![p](https://p.example/i.png)",
  "<b>x</b>",
  "<br>",
  "&amp;",
  "\\*",
  "*",
  "**",
  "_",
  "`",
  "``",
  "[",
  "]",
  "[^1]",
  "[^2]:",
  "http://x.example",
  "www.x.example",
  "a@x.example",
  "|",
  "-",
  "1.",
  "#",
  ">",
  "~",
  "$5",
  "😀",
  "\u202e",
  "  ",
  "\t",
  ":",
  '"',
  "(",
  ")",
  "<",
  "<!--",
  "-->",
  "</div>",
);
const line = fc.array(texts, { maxLength: 6 }).map((list) => list.join(" "));
const blocks = fc.oneof(
  line,
  line.map((text) => `# ${text}`),
  fc.tuple(line, fc.constantFrom("---", "===", "-", "=")).map(([text, under]) => `${text}\n${under}`),
  fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.map((text) => `- ${text}`).join("\n")),
  fc
    .array(line, { minLength: 1, maxLength: 4 })
    .map((lines) => lines.map((text, n) => `${n + 1}. ${text}`).join("\n\n")),
  fc
    .array(line, { minLength: 1, maxLength: 3 })
    .map((lines) => lines.map((text) => `- a\n  - ${text}\n\n    b`).join("\n")),
  fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.map((text) => `> ${text}`).join("\n")),
  fc
    .tuple(fc.constantFrom("```", "~~~", "````"), line, line)
    .map(([fence, info, text]) => `${fence}${info}\n${text}\n${fence}`),
  fc.tuple(line, line).map(([a, b]) => `| ${a} | ${b} |\n|---|:-:|\n| 1 | ${b} |\n| ${a} | 2 |`),
  line.map((text) => `    ${text}`),
  line.map((text) => `<div>\n${text}\n</div>`),
  line.map((text) => `<!-- ${text} -->`),
  line.map((text) => `[a]: https://d.example/${text.length} "t"`),
  line.map((text) => `- [x] ${text}\n- [ ] ${text}`),
  fc.constantFrom(
    "---",
    "***",
    "* * *",
    "```",
    "[a]: x",
    "[^1]: note",
    "***\n***",
    ">",
    "-",
    "- ",
    "1.",
    "|a|\n|-",
    "a|b\n-|-",
  ),
);

export const randomMarkdown = fc
  .array(fc.tuple(blocks, fc.constantFrom("\n", "\n\n", "\n\n\n", "\n ", "\n    ", "\r\n", " \n")), {
    maxLength: 8,
  })
  .map((parts) => parts.flat().join(""));

/** Returns growing prefixes of the text, as streaming produces them. The last one is the whole text. */
export function cutAt(text: string, cuts: readonly number[]): string[] {
  const ends = [...cuts.map((cut) => Math.min(text.length, cut)), text.length].toSorted((a, b) => a - b);
  return ends.map((end) => text.slice(0, end));
}
