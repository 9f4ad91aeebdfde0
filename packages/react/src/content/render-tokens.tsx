/**
 * `renderTokens` renders the tokens of Markdown as React elements.
 * Invariant: only the elements below exist. HTML that the answer wrote is text, except a line break; comments are left
 * out. Every address is shown by `SafeLink` or `SafeImage`, every other text is a text node. Inside code and links, citation
 * marks are restored to text. Nesting is limited.
 */
import type { MarkedToken, Token, Tokens } from "marked";
import { createElement, type ElementType, Fragment, type ReactNode } from "react";
import { SafeImage } from "../ui/safe-image.tsx";
import { SafeLink } from "../ui/safe-link.tsx";
import { decodeReferences } from "./character-references.ts";
import { findMarks, withoutMarks } from "./citations/citation-marks.ts";
import { Fence, Formula, type FormulaToken } from "./fence.tsx";
import { CitationMark, Heading, Paragraph, Table, TaskMark } from "./markdown-elements.tsx";
import { toCode } from "./split-blocks.ts";

/** Deeper than any readable text. Browsers lay out nested elements recursively. */
const MAX_DEPTH = 24;
const BREAK = /^<br\s*\/?>$/i;
const COMMENT = /^<!--[\s\S]*-->$/;

interface Place {
  readonly depth: number;
  /** Links contain no citations, which are buttons, and no images. */
  readonly isLink: boolean;
}

export function renderTokens(tokens: readonly Token[]): ReactNode {
  return join(render(tokens, { depth: 0, isLink: false }));
}

/** Children are arguments instead of a list, because they have no identity except their order. */
function join(children: readonly ReactNode[]): ReactNode {
  return createElement(Fragment, null, ...children);
}

function element(type: ElementType, props: object | null, children: readonly ReactNode[] = []): ReactNode {
  return createElement(type, props, ...children);
}

/** Adjacent texts become one, because a link compares its whole text with its address. */
function render(tokens: readonly Token[], place: Place): ReactNode[] {
  const found: ReactNode[] = [];
  for (const token of tokens)
    for (const node of renderToken(token as MarkedToken | FormulaToken, place)) {
      const last = found.at(-1);
      if (typeof node === "string" && typeof last === "string") found[found.length - 1] = last + node;
      else found.push(node);
    }
  return found;
}

function renderToken(token: MarkedToken | FormulaToken, place: Place): ReactNode[] {
  if (place.depth >= MAX_DEPTH) return [withoutMarks(token.raw)];
  const inner = (tokens: readonly Token[] = [], isLink = place.isLink): ReactNode[] =>
    render(tokens, { depth: place.depth + 1, isLink });
  switch (token.type) {
    case "paragraph":
      return [element(place.depth === 0 ? Paragraph : "p", null, inner(token.tokens))];
    case "text":
      // In an item of a tight list, a text has tokens of its own.
      return "tokens" in token && token.tokens !== undefined
        ? inner(token.tokens)
        : renderText(token.raw, place);
    case "escape":
      return renderText(token.text, place);
    case "strong":
    case "em":
    case "del":
      return [element(token.type, null, inner(token.tokens))];
    case "codespan":
      return [element("code", null, [withoutMarks(token.text)])];
    case "br":
    case "hr":
      return [element(token.type, null)];
    case "link":
      return [element(SafeLink, { address: toAddress(token.href) }, inner(token.tokens, true))];
    case "image":
      return renderImage(token, place);
    case "html":
      return renderHtml(token.raw);
    case "heading":
      return [element(Heading, { depth: token.depth }, inner(token.tokens))];
    case "blockquote":
      return [element("blockquote", null, inner(token.tokens))];
    case "code": {
      const { language, text, isClosed } = toCode(token);
      return [<Fence language={language} text={withoutMarks(text)} isComplete={isClosed} />];
    }
    case "list":
      return [renderList(token, inner)];
    case "checkbox":
      return [<TaskMark isDone={token.checked} />];
    case "table":
      return [renderTable(token, inner)];
    case "formula":
      return [<Formula {...token} text={withoutMarks(token.text)} raw={withoutMarks(token.raw)} />];
    case "space":
    case "def":
    case "list_item":
      return [];
  }
}

type Inner = (tokens?: readonly Token[]) => ReactNode[];

function renderText(text: string, { isLink }: Place): ReactNode[] {
  const decoded = decodeReferences(text);
  if (isLink) return [withoutMarks(decoded)];
  return findMarks(decoded).map((part) => (typeof part === "string" ? part : <CitationMark index={part} />));
}

function renderHtml(raw: string): ReactNode[] {
  const html = raw.trimEnd();
  if (COMMENT.test(html)) return [];
  return [BREAK.test(html) ? element("br", null) : html];
}

/** The address without citation marks. The link policy decides about it. */
function toAddress(href: string): string {
  return withoutMarks(decodeReferences(href));
}

function renderImage({ href, tokens }: Tokens.Image, { isLink }: Place): ReactNode[] {
  const alt = withoutMarks(collectText(tokens));
  return isLink ? [alt] : [<SafeImage address={toAddress(href)} alt={alt} />];
}

/** Not recursive, because an image can nest arbitrarily deep. */
function collectText(tokens: readonly Token[]): string {
  let text = "";
  const left = tokens.toReversed() as Tokens.Generic[];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next.tokens !== undefined && next.tokens.length > 0) left.push(...next.tokens.toReversed());
    else text += next.type === "text" ? decodeReferences(next.raw) : String(next["text"] ?? "");
  }
  return text;
}

function renderList({ ordered, start, items }: Tokens.List, inner: Inner): ReactNode {
  const isTasks = items.some(({ task }) => task);
  const drawn = items.map(({ tokens }) => element("li", null, inner(tokens)));
  return element(
    ordered ? "ol" : "ul",
    {
      ...(isTasks && { className: "contains-task-list" }),
      ...(ordered && start !== 1 && { start: Number(start) }),
    },
    drawn,
  );
}

function renderTable({ header, rows }: Tokens.Table, inner: Inner): ReactNode {
  const row = (cells: readonly Tokens.TableCell[], type: "th" | "td"): ReactNode =>
    element(
      "tr",
      null,
      cells.map(({ align, tokens }) =>
        element(type, align === null ? null : { style: { textAlign: align } }, inner(tokens)),
      ),
    );
  return (
    <Table>
      <thead>{row(header, "th")}</thead>
      {rows.length > 0 &&
        element(
          "tbody",
          null,
          rows.map((cells) => row(cells, "td")),
        )}
    </Table>
  );
}
