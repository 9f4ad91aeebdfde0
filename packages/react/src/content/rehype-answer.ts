/**
 * Transforms the HTML tree of an answer before and after the sanitizer: HTML becomes text (`rehypeHtmlAsText`), nesting
 * is limited, and marks become citations (`rehypeCitations`).
 * Invariant: HTML that the answer wrote never becomes an element, except a line break.
 */
import type { Options } from "react-markdown";
import { findMarks, withoutMarks } from "./citations/citation-marks.ts";

type Tree = Parameters<NonNullable<Options["allowElement"]>>[0];
type Parent = { children: Child[] };
type Child = Tree["children"][number] | { readonly type: "raw"; readonly value: string };

/** Deeper than any readable text. Browsers lay out nested elements recursively. */
const MAX_DEPTH = 24;
const BREAK = /^<br\s*\/?>$/i;
const COMMENT = /^<!--[\s\S]*-->$/;

/** Runs before the sanitizer, which would silently drop HTML. */
export function rehypeHtmlAsText() {
  return (tree: unknown): void => flatten(tree as Parent, 0);
}

function flatten(parent: Parent, depth: number): void {
  parent.children = parent.children.flatMap((child): Child[] => {
    if (child.type === "raw") return fromHtml(child.value);
    if (child.type !== "element") return [child];
    if (depth >= MAX_DEPTH) return [{ type: "text", value: collectText(child) }];
    flatten(child, depth + 1);
    return [child];
  });
}

function fromHtml(value: string): Child[] {
  if (COMMENT.test(value)) return [];
  return BREAK.test(value)
    ? [{ type: "element", tagName: "br", properties: {}, children: [] }]
    : [{ type: "text", value }];
}

/** Not recursive, because the removed part can be nested arbitrarily deep. */
function collectText(element: Tree): string {
  let text = "";
  const left: Child[] = [element];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next.type === "text" || next.type === "raw") text += next.value;
    else if ("children" in next) left.push(...next.children.toReversed());
  }
  return text;
}

/**
 * Runs after the sanitizer, so `<cite>` elements are only citations. Inside a link, marks become text, because a
 * citation is a button.
 */
export function rehypeCitations() {
  return (tree: unknown): void => replaceMarks(tree as Parent, "");
}

/** @param inside the enclosing link or code, if any; marks in it are restored to text */
function replaceMarks(parent: Parent, inside: "" | "a" | "code"): void {
  parent.children = parent.children.flatMap((child): Child[] => {
    if (child.type === "text") return inside === "" ? splitMarks(child) : [removeMarks(child)];
    if (child.type !== "element") return [child];
    const { tagName, properties } = child;
    for (const [name, value] of Object.entries(properties))
      if (typeof value === "string") properties[name] = withoutMarks(value);
    if (inside === "a" && tagName === "img") return [{ type: "text", value: properties["alt"] ?? "" }];
    replaceMarks(child, tagName === "a" || tagName === "code" ? tagName : inside);
    return [child];
  });
}

type Text = Extract<Child, { readonly type: "text" }>;

function removeMarks(text: Text): Text {
  return { ...text, value: withoutMarks(text.value) };
}

function splitMarks(text: Text): Child[] {
  return findMarks(text.value).map((part) =>
    typeof part === "string"
      ? { type: "text", value: part }
      : {
          type: "element",
          tagName: "cite",
          properties: { dataNumber: String(part) },
          children: [],
        },
  );
}
