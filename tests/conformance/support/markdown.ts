/**
 * Reads the parts of our Markdown files that tests compare with the code: fenced blocks, tables, lists and links.
 * Supports only the Markdown that we write. Does not render it.
 */

export interface Fence {
  /** The text after the three backticks. */
  readonly info: string;
  readonly body: string;
  /** The line of the file where the body starts. */
  readonly line: number;
}

/** The rows of a table without its header and its line of dashes. */
export type Rows = readonly (readonly string[])[];

export function readFences(text: string): Fence[] {
  const fences: Fence[] = [];
  let open: { info: string; line: number; body: string[] } | null = null;
  for (const [at, line] of text.split("\n").entries()) {
    if (open === null) {
      if (line.startsWith("```")) open = { info: line.slice(3).trim(), line: at + 2, body: [] };
    } else if (line === "```") {
      fences.push({ info: open.info, line: open.line, body: open.body.join("\n") });
      open = null;
    } else open.body.push(line);
  }
  return fences;
}

/** The text with the bodies of its fenced blocks blanked, so that their content is not read as text. */
function withoutFences(text: string): string {
  return text.replaceAll(/^```[^\n]*\n.*?^```$/gms, "");
}

/** The tables whose first column has this name. */
export function readTables(text: string, name: string): Rows[] {
  const tables: string[][][] = [];
  let rows: string[][] | null = null;
  for (const line of withoutFences(text).split("\n")) {
    if (!line.startsWith("|")) rows = null;
    else {
      const cells = cellsOf(line);
      if (rows === null && cells[0] === name) tables.push((rows = []));
      else if (rows !== null && !/^-+$/.test(cells[0] ?? "")) rows.push(cells);
      // Skip the rows of a table with another name.
      else rows ??= [];
    }
  }
  return tables;
}

function cellsOf(line: string): string[] {
  const cells = line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim().replaceAll(String.raw`\|`, "|"));
}

/** The spans of code in a cell or sentence, in order. */
export function readCode(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "");
}

/** The text under a heading, up to the next heading of any level. */
export function readSection(text: string, heading: string): string {
  const [, after = ""] = `\n${withoutFences(text)}`.split(`\n${heading}\n`);
  return after.split(/^#+ /m)[0] ?? "";
}

/** The items of the first list after a heading. An item can span several lines. */
export function readList(text: string, heading: string): string[] {
  const [, after = ""] = text.split(`\n${heading}\n`);
  const [section = ""] = after.split(/^#/m);
  const items = section.match(/^- .*(\n {2}.*)*/gm) ?? [];
  return items.map((item) => item.slice(2).replaceAll(/\s+/g, " ").trim());
}

/** The targets of the links outside fenced blocks. */
export function readLinks(text: string): string[] {
  return [...withoutFences(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "");
}

/** The anchors of the headings, as code hosts build them. */
export function readAnchors(text: string): Set<string> {
  const headings = withoutFences(text).match(/^#+ .*$/gm) ?? [];
  const titles = headings.map((heading) => heading.replace(/^#+ /, "").toLowerCase());
  return new Set(titles.map((word) => word.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")));
}

/** Parses JSON values that follow each other, each on one or several lines. */
export function readJson(body: string): unknown[] {
  const values: unknown[] = [];
  let pending = "";
  for (const line of body.split("\n")) {
    pending += `${line}\n`;
    if (!/^[\]}]|[\]}]$/.test(line)) continue;
    try {
      values.push(JSON.parse(pending));
      pending = "";
    } catch {
      // The value is not complete yet.
    }
  }
  if (pending.trim() !== "") values.push(JSON.parse(pending));
  return values;
}
