/**
 * `MarkdownBody` renders Markdown piece by piece. Complete pieces render once, and only the growing piece re-renders.
 * Loaded as a chunk with the parsers.
 * Invariant: HTML in an answer never becomes elements, and no input makes it throw. The time of a render grows
 * linearly with the text, so no pattern here may match white space across lines.
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

type Plugins = NonNullable<Options["remarkPlugins"]>;

/** Returns a plugin that turns off syntax of the parser. */
function without(...names: string[]): (this: { data: () => unknown }) => void {
  return function (this: { data: () => unknown }) {
    const data = this.data() as { micromarkExtensions?: unknown[] };
    (data.micromarkExtensions ??= []).push({ disable: { null: names } });
  };
}

/** Citations replace footnotes. A footnote would also have to find its text in another piece. */
const GFM: Plugins = [
  remarkGfm,
  without("gfmFootnoteDefinition", "gfmFootnoteCall", "gfmPotentialFootnoteCall"),
];
/** From each start of a comment or declaration, the parser reads up to its end, or up to the end of the piece. */
const MAX_COMMENTS = 20;
const NO_HTML: Plugins = [without("htmlText")];
/**
 * Characters that GitHub's extensions start with. Most paragraphs have none, and parse in half the time without the
 * extensions.
 */
const NEEDS_GFM = /[|~@]|www\.|https?:|\[[\sx]\]/i;
const REHYPE: NonNullable<Options["rehypePlugins"]> = [rehypeHtmlAsText, rehypeSanitize, rehypeCitations];
/** Larger than any readable text. The parsers take quadratic time for some longer or deeper inputs. */
const MAX_PIECE_CHARS = 20_000;
/** From each such character after an address, the extensions read up to the last one. */
const LONG_PUNCTUATION = /(?:[!"'),.:;<?_~*\]]|&[a-z0-9]{1,40};){100}/i;
/** Characters that can start or end inline syntax. The parser compares those of one piece with each other. */
const MARKS = /[*_`[\]<&]/;
const MAX_MARKS = 2_000;
/** Tildes take much more time than other marks. */
const MAX_TILDES = 500;
const TOO_DEEP = /^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){20}/m;

const TIGHT: typeof ELEMENTS = { ...ELEMENTS, p: ({ children }) => <>{children}</> };

const NO_ANNOTATIONS: NonNullable<MarkdownProps["annotations"]> = [];

/** Returns true if the source has more than `limit` matches. */
function hasMore(source: string, pattern: RegExp, limit: number): boolean {
  return source.split(pattern, limit + 2).length > limit + 1;
}

interface ProseProps {
  readonly source: string;
  /** For a list whose items are not paragraphs. */
  readonly isTight?: boolean;
}

const Prose = memo(function Prose({ source, isTight = false }: ProseProps) {
  const isTooMuch = hasMore(source, MARKS, MAX_MARKS) || hasMore(source, /~/, MAX_TILDES);
  if (source.length > MAX_PIECE_CHARS || isTooMuch || TOO_DEEP.test(source))
    return <p className="ts-plain">{source}</p>;
  try {
    // Called as a function instead of an element, so that parse errors are caught here.
    return Markdown({
      children: source,
      remarkPlugins: [
        ...(NEEDS_GFM.test(source) && !LONG_PUNCTUATION.test(source) ? GFM : []),
        ...(hasMore(source, /<[!?]/, MAX_COMMENTS) ? NO_HTML : []),
      ],
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

/** Renders a long list item by item, so that only the last item is parsed again when the list grows. */
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
  // Items have no identity except their index.
  const drawn = items.map((text, n) => (
    <li key={n}>{prose(text, isOpen && n === items.length - 1, !isLoose)}</li>
  ));
  return start === null ? <ul>{drawn}</ul> : <ol {...(start === 1 ? {} : { start })}>{drawn}</ol>;
});

interface PiecesProps {
  readonly pieces: readonly Piece[];
  readonly definitions: Definitions;
  readonly annotations: readonly NonNullable<MarkdownProps["annotations"]>[number][];
  /** Whether the last piece may continue. */
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

/** Completes incomplete syntax. An incomplete link is shown as text. */
function completeSyntax(text: string): string {
  return text.length > MAX_PIECE_CHARS ? text : remend(text, { linkMode: "text-only", katex: false });
}

export function MarkdownBody({
  text,
  isStreaming,
  annotations = NO_ANNOTATIONS,
  turnId = "",
}: MarkdownProps) {
  // The previous split only saves time; the result is the same without it.
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
