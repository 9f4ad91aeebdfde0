/**
 * `ELEMENTS` maps the elements of an answer to components. Independent of Markdown.
 * Invariant: links and images become `SafeLink` and `SafeImage`, so every address of an answer passes the link policy.
 * Headings get the level of `HeadingContext`.
 */
import { type ComponentProps, createContext, type ReactNode, useContext } from "react";
import type { Components } from "react-markdown";
import { useThreadContext } from "../context.ts";
import { CitationContext } from "./citations/references.ts";
import { CodeBlock } from "../ui/code-block.tsx";
import { HeadingContext } from "./headings.ts";
import { SafeImage } from "../ui/safe-image.tsx";
import { SafeLink } from "../ui/safe-link.tsx";

function Table({ children }: { readonly children?: ReactNode }) {
  const { strings } = useThreadContext();
  return (
    // Focusable, so that a keyboard can scroll it.
    <div className="ts-table-scroll" role="group" aria-label={strings.cards.table} tabIndex={0}>
      <table className="ts-table">{children}</table>
    </div>
  );
}

function CitationMark({ index }: { readonly index: number }) {
  const { components } = useThreadContext();
  const citations = useContext(CitationContext);
  const annotation = citations?.annotations[index];
  if (citations === null || annotation === undefined) return null;
  const number = citations.numbers.get(annotation.reference) ?? 0;
  return <components.Citation number={number} annotation={annotation} turnId={citations.turnId} />;
}

/** A code block inside a list or quotation. */
function NestedCode({ children }: ComponentProps<"pre">) {
  const code = children as { readonly props?: ComponentProps<"code"> } | undefined;
  const { className = "", children: text } = code?.props ?? {};
  const language = /language-(\S+)/.exec(className)?.[1] ?? "";
  return <CodeBlock language={language} text={typeof text === "string" ? text.replace(/\n$/, "") : ""} />;
}

function TaskMark({ isDone }: { readonly isDone: boolean }) {
  const { strings } = useThreadContext();
  return (
    <span className="ts-task-mark" data-done={isDone || undefined}>
      {isDone && <span className="ts-sr">{strings.thread.done}</span>}
    </span>
  );
}

interface HeadingProps {
  readonly size: 1 | 2 | 3;
  readonly children?: ReactNode;
}

/** Sized as in the answer, with the heading level of the page. */
function Heading({ size, children }: HeadingProps) {
  const Level = `h${useContext(HeadingContext)}` as "h3" | "h4" | "h5" | "h6";
  return <Level className={`ts-h${size}`}>{children}</Level>;
}

/** Whether paragraphs are shown without an element, because they are items of a tight list. */
export const TightContext = createContext(false);

function Paragraph({ children }: { readonly children?: ReactNode }) {
  return useContext(TightContext) ? children : <p>{children}</p>;
}

export const ELEMENTS: Components = {
  p: ({ children }) => <Paragraph>{children}</Paragraph>,
  a: ({ href = "", children }) => <SafeLink address={href}>{children}</SafeLink>,
  img: ({ src, alt = "" }) => <SafeImage address={typeof src === "string" ? src : ""} alt={alt} />,
  pre: ({ children }) => <NestedCode>{children}</NestedCode>,
  table: ({ children }) => <Table>{children}</Table>,
  cite: ({ node }) => <CitationMark index={Number(node?.properties["dataNumber"])} />,
  // A mark instead of a checkbox, because the reader can't change it.
  input: ({ checked }) => <TaskMark isDone={checked === true} />,
  h1: ({ children }) => <Heading size={1}>{children}</Heading>,
  h2: ({ children }) => <Heading size={2}>{children}</Heading>,
  h3: ({ children }) => <Heading size={3}>{children}</Heading>,
  h4: ({ children }) => <Heading size={3}>{children}</Heading>,
  h5: ({ children }) => <Heading size={3}>{children}</Heading>,
  h6: ({ children }) => <Heading size={3}>{children}</Heading>,
};
