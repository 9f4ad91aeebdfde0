/** What the elements of an answer are drawn as, where it isn't simply the element. Knows no Markdown. */
import { type ComponentProps, type ReactNode, useContext } from "react";
import type { Components } from "react-markdown";
import { useShared } from "../context.ts";
import { CitationContext } from "./citation-context.ts";
import { CodeBlock } from "./code-block.tsx";
import { SafeImage } from "./safe-image.tsx";
import { SafeLink } from "./safe-link.tsx";

function Table({ children }: { readonly children?: ReactNode }) {
  const { strings } = useShared();
  return (
    // Scrolled by keyboard too.
    <div className="ts-table-scroll" role="group" aria-label={strings.cards.table} tabIndex={0}>
      <table className="ts-table">{children}</table>
    </div>
  );
}

function Cite({ index }: { readonly index: number }) {
  const { components } = useShared();
  const citations = useContext(CitationContext);
  const annotation = citations?.annotations[index];
  if (citations === null || annotation === undefined) return null;
  const number = citations.numbers.get(annotation.reference) ?? 0;
  return <components.Citation number={number} annotation={annotation} turn={citations.turn} />;
}

/** A code block that stands in a list or a quotation. */
function Pre({ children }: ComponentProps<"pre">) {
  const code = children as { readonly props?: ComponentProps<"code"> } | undefined;
  const { className = "", children: text } = code?.props ?? {};
  const language = /language-(\S+)/.exec(className)?.[1] ?? "";
  return <CodeBlock language={language} text={typeof text === "string" ? text.replace(/\n$/, "") : ""} />;
}

function Mark({ isDone }: { readonly isDone: boolean }) {
  const { strings } = useShared();
  return (
    <span className="ts-task-mark" data-done={isDone || undefined}>
      {isDone && <span className="ts-sr">{strings.thread.done}</span>}
    </span>
  );
}

export const ELEMENTS: Components = {
  a: ({ href = "", children }) => <SafeLink address={href}>{children}</SafeLink>,
  img: ({ src, alt = "" }) => <SafeImage address={typeof src === "string" ? src : ""} alt={alt} />,
  pre: ({ children }) => <Pre>{children}</Pre>,
  table: ({ children }) => <Table>{children}</Table>,
  cite: ({ node }) => <Cite index={Number(node?.properties["dataNumber"])} />,
  // A mark, not a field: whoever reads can't change it.
  input: ({ checked }) => <Mark isDone={checked === true} />,
  // An answer's headings stand below those of the page.
  h1: ({ children }) => <h3 className="ts-h1">{children}</h3>,
  h2: ({ children }) => <h4 className="ts-h2">{children}</h4>,
  h3: ({ children }) => <h5 className="ts-h3">{children}</h5>,
  h4: ({ children }) => <h6 className="ts-h3">{children}</h6>,
  h5: ({ children }) => <h6 className="ts-h3">{children}</h6>,
  h6: ({ children }) => <h6 className="ts-h3">{children}</h6>,
};
