/**
 * The elements of an answer that are components: links, images, code, tables, headings, citations, task marks and
 * paragraphs. Independent of the parser.
 * Invariant: links and images become `SafeLink` and `SafeImage`, so every address of an answer passes the link policy.
 * Headings get the level of `HeadingContext`.
 */
import { createContext, type ReactNode, useContext } from "react";
import { useThreadParts } from "../context.ts";
import { CitationContext } from "./citations/references.ts";
import { HeadingContext } from "./headings.ts";
import { useScrollEdges } from "../ui/use-scroll-edges.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";

export function Table({ children }: { readonly children?: ReactNode }) {
  const strings = useCardStrings();
  const scroller = useScrollEdges<HTMLDivElement>();
  return (
    <div className="ts-table-frame">
      {/* Focusable, so that a keyboard can scroll it. */}
      <div
        ref={scroller}
        className="ts-table-scroll"
        role="group"
        aria-label={strings.cards.table}
        tabIndex={0}
      >
        <table className="ts-table">{children}</table>
      </div>
    </div>
  );
}

export function CitationMark({ index }: { readonly index: number }) {
  const { components } = useThreadParts();
  const citations = useContext(CitationContext);
  const annotation = citations?.annotations[index];
  if (citations === null || annotation === undefined) return null;
  const number = citations.numbers.get(annotation.reference) ?? 0;
  return <components.Citation number={number} annotation={annotation} turnId={citations.turnId} />;
}

/** A mark instead of a checkbox, because the reader can't change it. */
export function TaskMark({ isDone }: { readonly isDone: boolean }) {
  const strings = useCardStrings();
  return (
    <span className="ts-task-mark" data-done={isDone || undefined}>
      {isDone && <span className="ts-sr">{strings.thread.done}</span>}
    </span>
  );
}

interface HeadingProps {
  /** The depth in the answer: 1 to 6. */
  readonly depth: number;
  readonly children?: ReactNode;
}

/** Sized as in the answer, with the heading level of the page. */
export function Heading({ depth, children }: HeadingProps) {
  const Level = `h${useContext(HeadingContext)}` as "h3" | "h4" | "h5" | "h6";
  return <Level className={`ts-h${Math.min(3, depth)}`}>{children}</Level>;
}

/** Whether paragraphs are shown without an element, because they are items of a tight list. */
export const TightContext = createContext(false);

/** A paragraph that is not inside another block. */
export function Paragraph({ children }: { readonly children?: ReactNode }) {
  return useContext(TightContext) ? children : <p>{children}</p>;
}
