/**
 * What is done to the tree of an answer around the sanitizer: HTML becomes text, nesting gets an end, and marks become
 * citations. Never makes an element of something that the answer wrote as HTML, but for a line break.
 */
import type { Options } from "react-markdown";
import { findMarks, withoutMarks } from "./citations/citation-marks.ts";

type Tree = Parameters<NonNullable<Options["allowElement"]>>[0];
type Parent = { children: Child[] };
type Child = Tree["children"][number] | { readonly type: "raw"; readonly value: string };

/** Deeper than anybody reads; a browser lays out what is nested by its own stack. */
const MAX_DEPTH = 24;
const BREAK = /^<br\s*\/?>$/i;
const COMMENT = /^<!--[\s\S]*-->$/;

/** Before the sanitizer, which drops HTML without a trace. */
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

/** Without recursion: what is cut off may be nested without end. */
function collectText(element: Tree): string {
  let text = "";
  const left: Child[] = [element];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next.type === "text" || next.type === "raw") text += next.value;
    else if ("children" in next) left.push(...next.children.toReversed());
  }
  return text;
}

/** After the sanitizer: `<cite>` is ours, and stands for a citation. In a link there is only text, for it is a button itself. */
export function rehypeCitations() {
  return (tree: unknown): void => replaceMarks(tree as Parent, "");
}

/** @param inside the link or code that it stands in, if any: there marks are what was written */
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
