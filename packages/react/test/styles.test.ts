/**
 * Tests the rules of the styles: every selector counts as one class, sizes come from tokens, and docs/styling.md lists
 * the tokens with their values.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "..");
const FILES = globSync("styles/*.css", { cwd: folder });
const read = (path: string): string => readFileSync(join(folder, path), "utf8");
const withoutComments = (css: string): string => css.replace(/\/\*[^]*?\*\//g, "");
const ALL = FILES.map((path) => withoutComments(read(path))).join("\n");

/** Splits at separators that are in no parentheses or brackets. */
function splitOutside(text: string, separator: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const char of text) {
    if (char === "(" || char === "[") depth++;
    if (char === ")" || char === "]") depth--;
    if (char === separator && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim());
}

/** Removes each `:where(…)`, which doesn't count. */
function withoutWhere(selector: string): string {
  let rest = selector;
  for (let at = rest.indexOf(":where("); at >= 0; at = rest.indexOf(":where(")) {
    let end = at + ":where(".length;
    for (let depth = 1; depth > 0; end++) depth += rest[end] === "(" ? 1 : rest[end] === ")" ? -1 : 0;
    rest = rest.slice(0, at) + rest.slice(end);
  }
  return rest;
}

/** How often a selector counts as a class, and whether it has an id or an element. */
function weigh(selector: string): { readonly classes: number; readonly others: boolean } {
  const counted = withoutWhere(selector)
    // Only the heaviest of a list counts. Ours are all equal.
    .replace(/:is\(([^,()]+)[^()]*\)/g, "$1")
    .replace(/::[\w-]+/g, "")
    .replace(/\[[^\]]*\]/g, "[]");
  const classes = counted.match(/\.[\w-]+|\[\]|:[\w-]+/g)?.length ?? 0;
  return { classes, others: /#|(^|[\s>+~])[a-z]/.test(counted) };
}

const selectors = [...ALL.matchAll(/(?:^|[{};])\s*([^{};@]+)\{/g)]
  .flatMap(([, list = ""]) => splitOutside(list, ","))
  .filter((selector) => !/^(?:to|from|\d+%)$/.test(selector));

test("every selector counts as exactly one class, and tokens count as none", () => {
  const wrong = selectors.filter((selector) => {
    const { classes, others } = weigh(selector);
    return classes !== (selector.startsWith(":where(") && withoutWhere(selector) === "" ? 0 : 1) || others;
  });
  expect(selectors.length).toBeGreaterThan(300);
  expect(wrong).toEqual([]);
});

test("the test of selectors finds those that count as more or less", () => {
  expect(weigh(".a .b").classes).toBe(2);
  expect(weigh(".a:hover").classes).toBe(2);
  expect(weigh(":where(.a) > .b:where(:hover:not(:disabled))::after")).toEqual({ classes: 1, others: false });
  expect(weigh("button.a").others).toBe(true);
  expect(weigh(":where(.a) p")).toEqual({ classes: 0, others: true });
});

test("no rule is in a cascade layer, and only reduced motion is important", () => {
  expect(`${read("styles.css")}${ALL}`).not.toMatch(/@layer|layer\(/);
  expect(ALL.match(/[\w-]+: [^;{]+!important/g)).toEqual([
    "animation: none !important",
    "transition: none !important",
  ]);
});

/** Without those of tokens.css. */
const declarations = FILES.filter((path) => !path.endsWith("tokens.css")).flatMap((path) =>
  [...withoutComments(read(path)).matchAll(/^\s+([\w-]+):\s*([^;{}]+);/gm)].map(
    ([, property = "", value = ""]) => ({ property, value, text: `${path}: ${property}: ${value}` }),
  ),
);

test("colors, radii, font sizes and spacing come from tokens", () => {
  const literal = declarations.filter(({ property, value }) => {
    if (/#[\da-f]{3}|rgba?\(/i.test(value)) return true;
    if (property.endsWith("radius")) return /\d(px|rem)/.test(value) && !/var\(|^99px$/.test(value);
    // On phones, a smaller font of the composer would make the page zoom.
    if (value === "max(16px, var(--ts-size))") return false;
    if (property === "font-size" || property === "font") return /\d(px|rem)/.test(value);
    // Less than 4 px is not spacing, but aligns something.
    if (/^(?:(?:row-|column-)?gap|padding.*|margin.*)$/.test(property))
      return /(?<![\d.])(?:[4-9]|\d\d+)px/.test(value);
    return false;
  });
  expect(declarations.length).toBeGreaterThan(800);
  expect(literal.map(({ text }) => text)).toEqual([]);
});

const tokens = new Map(
  [...withoutComments(read("styles/tokens.css")).matchAll(/(--ts-[\w-]+):\s*([^;]+);/g)].map(
    ([, name = "", value = ""]) => [name, value.replace(/\s+/g, " ").trim()] as const,
  ),
);
/** Set by components, or by apps only. */
const OTHERS = ["--ts-keyboard", "--ts-chat-height"];

test("every token is used, and every used variable is a token", () => {
  const used = new Set(
    [...`${ALL}${withoutComments(read("styles/tokens.css"))}`.matchAll(/var\((--ts-[\w-]+)/g)].map(
      ([, name = ""]) => name,
    ),
  );
  expect([...used].filter((name) => !tokens.has(name) && !OTHERS.includes(name))).toEqual([]);
  expect([...tokens.keys()].filter((name) => !used.has(name))).toEqual([]);
  const mapped = [...read("shadcn.css").matchAll(/(--ts-[\w-]+):/g)].map(([, name = ""]) => name);
  expect(mapped.length).toBeGreaterThan(15);
  expect(mapped.filter((name) => !tokens.has(name))).toEqual([]);
});

/** How the page shows the value of a token; "" for one that is too long to be shown. */
function formatCell(value: string): string {
  const [, light, dark] = /^light-dark\(([^,()]+), ([^,()]+)\)$/.exec(value) ?? [];
  if (light !== undefined && dark !== undefined) return `\`${light}\`, dark \`${dark}\``;
  return value.length > 60 ? "" : `\`${value}\``;
}

test("docs/styling.md lists every token with its values", () => {
  const text = readFileSync(join(folder, "../../docs/styling.md"), "utf8");
  const listed = new Map(
    [...text.matchAll(/^\| `(--ts-[\w-]+)` \| (.+?) \| .+ \|$/gm)].map(
      ([, name = "", value = ""]) => [name, value] as const,
    ),
  );
  for (const [name, value] of tokens) {
    const wanted = formatCell(value);
    expect(listed.has(name), name).toBe(true);
    if (wanted !== "") expect(listed.get(name), name).toBe(wanted);
  }
  expect([...listed.keys()].filter((name) => !tokens.has(name) && !OTHERS.includes(name))).toEqual([]);
});
