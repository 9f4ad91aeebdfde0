/**
 * `CodeBlock` shows code with its language, a copy button, and a button that wraps lines which are too long.
 * Invariant: the code is shown as text, left to right, and never rendered. The button copies exactly `text`. A keyboard
 * can scroll the block.
 */
import { memo, type ReactNode, useEffect, useState } from "react";
import { usePart } from "../parts.tsx";
import { useScrollEdges } from "./use-scroll-edges.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "./button.tsx";

export interface CodeBlockProps {
  readonly language: string;
  readonly text: string;
  /** Shown instead of the language, such as a file name. */
  readonly name?: string;
  /** The same text as elements, in color. @default the plain text */
  readonly children?: ReactNode;
}

export const CodeBlock = memo(function CodeBlock({ language, text, name, children }: CodeBlockProps) {
  const strings = useCardStrings();
  const title = name ?? language;
  const scroller = useScrollEdges<HTMLPreElement>();
  const [isWrapped, setWrapped] = useState(false);
  return (
    <figure {...usePart("code-block", "ts-code")}>
      <figcaption className="ts-code-head">
        <bdi>{title}</bdi>
        {/* Hidden by the styles while no line is too long. */}
        <Button
          className="ts-quiet-button"
          data-action="wrap"
          aria-pressed={isWrapped}
          onClick={() => setWrapped(!isWrapped)}
        >
          {strings.cards.wrap}
        </Button>
        <CopyButton text={text} />
      </figcaption>
      {/* Focusable, so that a keyboard can scroll it. */}
      <pre
        ref={scroller}
        tabIndex={0}
        role="group"
        aria-label={strings.cards.code(title)}
        dir="ltr"
        data-wrap={isWrapped || undefined}
      >
        <code>{children ?? text}</code>
      </pre>
    </figure>
  );
});

/** How long the copy button shows that it copied the text. */
const COPIED_FOR_MS = 2_000;

export function CopyButton({ text }: { readonly text: string }) {
  const strings = useCardStrings();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_FOR_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (): void => {
    // Fails silently if the page has no clipboard permission or is not served over TLS.
    navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => {},
    );
  };
  return (
    <Button className="ts-quiet-button" onClick={copy}>
      {copied ? strings.cards.copied : strings.cards.copy}
    </Button>
  );
}
