/**
 * `MarkdownBody` renders Markdown piece by piece. Complete pieces render once, and only the growing piece re-renders.
 * Loaded as a chunk with the parser.
 *
 * A long text is drawn in slices, one per task, so that the page handles input between them. The rest is plain text
 * until its slice. A server draws only the first slice.
 *
 * Invariant: HTML in an answer never becomes elements, and no input makes it throw. One render takes at most 50 ms of
 * CPU time, so no pattern here may match white space across lines.
 */
import { memo, type ReactNode, useDeferredValue, useMemo, useRef } from "react";
import remend from "remend";
import type { MarkdownProps } from "../components.ts";
import { Sources } from "./citations/citation.tsx";
import { CitationContext, numberReferences } from "./citations/references.ts";
import { hasSameMarks, withMarks } from "./citations/citation-marks.ts";
import { useThreadContext } from "../context.ts";
import { Fence } from "./fence.tsx";
import { HeadingContext } from "./headings.ts";
import { lexMarkdown } from "./markdown-lexer.ts";
import type { FormulaSyntax, MarkdownPlugin } from "./markdown-plugin.ts";
import {
  type Definitions,
  definitionsFor,
  splitListItems,
  EMPTY_SPLIT,
  normalizeNewlines,
  type Piece,
  splitBlocks,
} from "./split-blocks.ts";
import { TightContext } from "./markdown-elements.tsx";
import { findCostEnd } from "./render-cost.ts";
import { renderTokens } from "./render-tokens.tsx";
import { PlainRest, useDrawnEnd } from "./use-drawn-end.tsx";

export { Citation } from "./citations/citation.tsx";

/** Twice the cost of a piece, because of definitions and completed syntax. */
const MAX_COST = 24_000;
const TOO_DEEP = /^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){20}/m;

const NO_ANNOTATIONS: NonNullable<MarkdownProps["annotations"]> = [];

/** Returns how the plugins write formulas. */
function findSyntax(plugins: readonly MarkdownPlugin[]): FormulaSyntax | null {
  return plugins.find(({ formulas }) => formulas !== undefined)?.formulas ?? null;
}

interface ProseProps {
  readonly text: string;
  /** The definitions that the text uses. */
  readonly used: string;
}

const Prose = memo(function Prose({ text, used }: ProseProps) {
  const syntax = findSyntax(useThreadContext().markdownPlugins);
  const source = text + used;
  if (findCostEnd(source, 0, MAX_COST) < source.length || TOO_DEEP.test(source))
    return <p className="ts-plain">{text}</p>;
  try {
    return renderTokens(lexMarkdown(source, syntax));
  } catch {
    return <p className="ts-plain">{text}</p>;
  }
});

interface ListOrProseProps {
  readonly source: string;
  readonly definitions: Definitions;
  readonly isOpen: boolean;
}

/** Renders a long list item by item, so that only the last item is parsed again when the list grows. */
const ListOrProse = memo(function ListOrProse({ source, definitions, isOpen }: ListOrProseProps) {
  const syntax = findSyntax(useThreadContext().markdownPlugins);
  const list = splitListItems(source, syntax);
  const prose = (text: string, mayGrow: boolean): ReactNode => {
    // A formula has marks of its own.
    const isIncomplete = mayGrow && (syntax?.find(text, true) ?? null) === null;
    return (
      <Prose text={isIncomplete ? completeSyntax(text) : text} used={definitionsFor(text, definitions)} />
    );
  };
  if (list === null) return prose(source, isOpen);
  const { start, isLoose, items } = list;
  // Items have no identity except their index.
  const drawn = items.map((text, n) => <li key={n}>{prose(text, isOpen && n === items.length - 1)}</li>);
  return (
    // A context, so that a list which becomes loose isn't parsed again.
    <TightContext.Provider value={!isLoose}>
      {start === null ? <ul>{drawn}</ul> : <ol {...(start === 1 ? {} : { start })}>{drawn}</ol>}
    </TightContext.Provider>
  );
});

interface PiecesProps {
  readonly pieces: readonly Piece[];
  readonly definitions: Definitions;
  readonly annotations: readonly NonNullable<MarkdownProps["annotations"]>[number][];
  /** Whether the last piece may continue. */
  readonly isOpen: boolean;
}

export const Pieces = memo(function Pieces({ pieces, definitions, annotations, isOpen }: PiecesProps) {
  return pieces.map(({ at, head, raw, code, level }, n) => {
    const isLast = isOpen && n === pieces.length - 1;
    if (code !== null) {
      const text = isLast && !code.isClosed ? code.text.replace(/\n {0,3}[`~]+$/, "") : code.text;
      return <Fence key={at} language={code.language} text={text} isComplete={code.isClosed} />;
    }
    const source = head + withMarks(raw, at, annotations);
    return (
      <HeadingContext.Provider key={at} value={level}>
        <ListOrProse source={source} definitions={definitions} isOpen={isLast} />
      </HeadingContext.Provider>
    );
  });
}, areSame);

/** A new citation changes only the pieces around it. */
function areSame(before: PiecesProps, next: PiecesProps): boolean {
  if (before.pieces !== next.pieces || before.definitions !== next.definitions) return false;
  const last = next.pieces.at(-1);
  const [from, to] = [next.pieces[0]?.at ?? 0, (last?.at ?? 0) + (last?.raw.length ?? 0)];
  return before.isOpen === next.isOpen && hasSameMarks(before.annotations, next.annotations, from, to);
}

/** Completes incomplete syntax. An incomplete link is shown as text. */
function completeSyntax(text: string): string {
  return remend(text, { linkMode: "text-only", katex: false });
}

/** Sources are listed only after the text is complete. */
export function MarkdownText(props: MarkdownProps): ReactNode {
  const { isStreaming, annotations = NO_ANNOTATIONS, turnId } = props;
  return (
    <>
      <MarkdownBody {...props} />
      {!isStreaming && annotations.length > 0 && turnId !== undefined && (
        <Sources annotations={annotations} turn={turnId} />
      )}
    </>
  );
}

export function MarkdownBody({
  text,
  isStreaming,
  annotations = NO_ANNOTATIONS,
  turnId = "",
}: MarkdownProps) {
  const clean = normalizeNewlines(text);
  const end = useDrawnEnd(clean);
  const isCut = end < clean.length;
  // The previous split only saves time; the result is the same without it.
  const before = useRef(EMPTY_SPLIT);
  const syntax = findSyntax(useThreadContext().markdownPlugins);
  const split = splitBlocks(before.current, clean.slice(0, end), syntax);
  before.current = split;
  const citations = useMemo(
    () => (turnId === "" ? null : { turnId, annotations, numbers: numberReferences(annotations) }),
    [turnId, annotations],
  );
  const marks = citations === null ? NO_ANNOTATIONS : annotations;
  const { chunks } = split;
  // A definition can change every piece before it. React draws them in the background.
  const definitions = useDeferredValue(split.definitions);
  return (
    <CitationContext.Provider value={citations}>
      {chunks.map((pieces, n) => (
        <Pieces
          key={pieces[0]?.at}
          pieces={pieces}
          definitions={definitions}
          annotations={marks}
          isOpen={(isStreaming || isCut) && n === chunks.length - 1}
        />
      ))}
      {isCut && <PlainRest text={clean} from={end} />}
    </CitationContext.Provider>
  );
}
