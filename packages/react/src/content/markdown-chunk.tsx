/**
 * Draws Markdown, piece by piece: what is complete is drawn once, and only the piece that grows is drawn again. Loaded when
 * first needed, with the parsers. Never lets HTML of an answer become elements, and never throws for what it is given.
 */
import { memo, type ReactNode, useMemo, useRef } from "react";
import Markdown, { type Options } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import remend from "remend";
import type { MarkdownProps } from "../components.ts";
import { CitationContext } from "./citations/references.ts";
import { numberReferences, withMarks } from "./citations/citation-marks.ts";
import { CodeBlock } from "../ui/code-block.tsx";
import { HeadingContext } from "./headings.ts";
import {
  type Definitions,
  definitionsFor,
  splitListItems,
  EMPTY_SPLIT,
  type Piece,
  splitBlocks,
} from "./split-blocks.ts";
import { ELEMENTS } from "./markdown-elements.tsx";
import { rehypeCitations, rehypeHtmlAsText } from "./rehype-answer.ts";

/** Citations are ours already, and a footnote would have to find its text in another piece. */
function remarkWithoutFootnotes(this: { data: () => unknown }): void {
  const data = this.data() as { micromarkExtensions?: unknown[] };
  data.micromarkExtensions ??= [];
  data.micromarkExtensions.push({
    disable: { null: ["gfmFootnoteDefinition", "gfmFootnoteCall", "gfmPotentialFootnoteCall"] },
  });
}

const REMARK = [remarkGfm, remarkWithoutFootnotes] as NonNullable<Options["remarkPlugins"]>;
const NO_PLUGINS: NonNullable<Options["remarkPlugins"]> = [];
/** What GitHub's additions begin with. Most paragraphs have none of it, and are parsed in half the time without. */
const NEEDS_GFM = /[|~@]|www\.|https?:|\[[\sx]\]/i;
const REHYPE: NonNullable<Options["rehypePlugins"]> = [rehypeHtmlAsText, rehypeSanitize, rehypeCitations];
/** Longer and deeper than anything that somebody reads; parsers take time by the square of some of these. */
const MAX_PIECE_CHARS = 20_000;
const TOO_DEEP = /^(?:\s*(?:[>*+-]|\d+[.)])){20}/m;

const TIGHT: typeof ELEMENTS = { ...ELEMENTS, p: ({ children }) => <>{children}</> };

const NO_ANNOTATIONS: NonNullable<MarkdownProps["annotations"]> = [];

interface ProseProps {
  readonly source: string;
  /** Of a list whose items are no paragraphs. */
  readonly isTight?: boolean;
}

const Prose = memo(function Prose({ source, isTight = false }: ProseProps) {
  if (source.length > MAX_PIECE_CHARS || TOO_DEEP.test(source)) return <p className="ts-plain">{source}</p>;
  try {
    // Called, not placed as an element: what goes wrong in parsing is then caught here.
    return Markdown({
      children: source,
      remarkPlugins: NEEDS_GFM.test(source) ? REMARK : NO_PLUGINS,
      rehypePlugins: REHYPE,
      components: isTight ? TIGHT : ELEMENTS,
    });
  } catch {
    return <p className="ts-plain">{source}</p>;
  }
});

interface ListOrProseProps {
  readonly source: string;
  readonly definitions: Definitions;
  readonly isOpen: boolean;
}

/** A long list is drawn by its items: when it grows, only the last of them is parsed again. */
const ListOrProse = memo(function ListOrProse({ source, definitions, isOpen }: ListOrProseProps) {
  const list = splitListItems(source);
  const prose = (text: string, mayGrow: boolean, isTight: boolean): ReactNode => (
    <Prose
      source={(mayGrow ? completeSyntax(text) : text) + definitionsFor(text, definitions)}
      isTight={isTight}
    />
  );
  if (list === null) return prose(source, isOpen, false);
  const { start, isLoose, items } = list;
  // Items have no identity but their place.
  const drawn = items.map((text, n) => (
    <li key={n}>{prose(text, isOpen && n === items.length - 1, !isLoose)}</li>
  ));
  return start === null ? <ul>{drawn}</ul> : <ol {...(start === 1 ? {} : { start })}>{drawn}</ol>;
});

interface PiecesProps {
  readonly pieces: readonly Piece[];
  readonly definitions: Definitions;
  readonly annotations: readonly NonNullable<MarkdownProps["annotations"]>[number][];
  /** Whether the last of them may go on. */
  readonly isOpen: boolean;
}

const Pieces = memo(function Pieces({ pieces, definitions, annotations, isOpen }: PiecesProps) {
  return pieces.map(({ at, raw, code, level }, n) => {
    const isLast = isOpen && n === pieces.length - 1;
    if (code !== null) {
      const text = isLast && !code.isClosed ? code.text.replace(/\n {0,3}[`~]+$/, "") : code.text;
      return <CodeBlock key={at} language={code.language} text={text} />;
    }
    const source = withMarks(raw, at, annotations);
    return (
      <HeadingContext key={at} value={level}>
        <ListOrProse source={source} definitions={definitions} isOpen={isLast} />
      </HeadingContext>
    );
  });
});

/** What is half typed, as if it were done; an address that is half there is none. */
function completeSyntax(text: string): string {
  return text.length > MAX_PIECE_CHARS ? text : remend(text, { linkMode: "text-only", katex: false });
}

export function MarkdownBody({
  text,
  isStreaming,
  annotations = NO_ANNOTATIONS,
  turnId = "",
}: MarkdownProps) {
  // What was split before only saves time: the outcome is the same without it.
  const before = useRef(EMPTY_SPLIT);
  const split = splitBlocks(before.current, text);
  before.current = split;
  const citations = useMemo(
    () => (turnId === "" ? null : { turnId, annotations, numbers: numberReferences(annotations) }),
    [turnId, annotations],
  );
  const marks = citations === null ? NO_ANNOTATIONS : annotations;
  const { chunks, definitions } = split;
  return (
    <CitationContext value={citations}>
      {chunks.map((pieces, n) => (
        <Pieces
          key={pieces[0]?.at}
          pieces={pieces}
          definitions={definitions}
          annotations={marks}
          isOpen={isStreaming && n === chunks.length - 1}
        />
      ))}
    </CitationContext>
  );
}
