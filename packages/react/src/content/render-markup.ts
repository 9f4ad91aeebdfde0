/**
 * `renderMarkup` turns the markup that a highlighter or a formula library returned into React elements, without
 * `innerHTML`. Independent of the browser.
 * Invariant: only listed elements and attributes are created. An attribute that is not listed is left out. For
 * everything else that is unexpected the result is null, and the caller shows the text instead.
 */
import { createElement, Fragment, type ReactElement, type ReactNode } from "react";
import { decodeReferences } from "./character-references.ts";

export interface AllowedMarkup {
  readonly tags: ReadonlySet<string>;
  readonly attributes: ReadonlySet<string>;
}

const PART = /<(\/?)([a-z]+)((?: [a-z-]+="[^"<>]*")*) ?(\/?)>|([^<]+)/y;
const ATTRIBUTE = / ([a-z-]+)="([^"]*)"/g;
const CLASSES = /^[\w -]*$/;
/** No parentheses, so no `url()`, and no quotes or colons. */
const DECLARATION = /^([a-z-]+):([\w.,%# -]*)$/;
/** Browsers lay out nested elements recursively. */
const MAX_DEPTH = 60;
const MAX_ELEMENTS = 8_000;

interface Open {
  readonly tag: string;
  readonly props: Record<string, unknown>;
  readonly children: ReactNode[];
}

export function renderMarkup(markup: string, allowed: AllowedMarkup): ReactElement | null {
  const root: Open = { tag: "", props: {}, children: [] };
  const open = [root];
  let elements = 0;
  PART.lastIndex = 0;
  for (let at = 0; at < markup.length; at = PART.lastIndex) {
    const [, isEnd, tag = "", attributes = "", isEmpty, text] = PART.exec(markup) ?? [];
    const parent = open.at(-1) ?? root;
    if (text !== undefined) parent.children.push(decodeReferences(text));
    else if (isEnd === "/") {
      if (open.length === 1 || parent.tag !== tag) return null;
      open.pop();
      open.at(-1)?.children.push(createElement(parent.tag, parent.props, ...parent.children));
    } else {
      if (!allowed.tags.has(tag) || open.length > MAX_DEPTH || ++elements > MAX_ELEMENTS) return null;
      const props = readAttributes(attributes, allowed.attributes);
      if (isEmpty === "/") parent.children.push(createElement(tag, props));
      else open.push({ tag, props, children: [] });
    }
  }
  return open.length === 1 ? createElement(Fragment, null, ...root.children) : null;
}

function readAttributes(source: string, allowed: ReadonlySet<string>): Record<string, unknown> {
  const props: Record<string, unknown> = {};
  for (const [, name = "", written = ""] of source.matchAll(ATTRIBUTE)) {
    const value = decodeReferences(written);
    if (!allowed.has(name)) continue;
    if (name === "style") props["style"] = readStyle(value);
    else if (name !== "class") props[name] = value;
    else if (CLASSES.test(value)) props["className"] = value;
  }
  return props;
}

function readStyle(source: string): Record<string, string> {
  const style: Record<string, string> = {};
  for (const declaration of source.split(";")) {
    const [, name, value] = DECLARATION.exec(declaration.trim()) ?? [];
    if (name === undefined || value === undefined) continue;
    style[name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())] = value.trim();
  }
  return style;
}
