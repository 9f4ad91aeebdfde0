/** A piece of code: its language, the code, and a button that copies it. */
import { memo, useEffect, useState } from "react";
import { useThreadContext } from "../context.ts";

export interface CodeBlockProps {
  readonly language: string;
  readonly text: string;
  /** What is said instead of the language, such as a file's name. */
  readonly name?: string;
}

export const CodeBlock = memo(function CodeBlock({ language, text, name }: CodeBlockProps) {
  const { strings } = useThreadContext();
  const title = name ?? language;
  return (
    <figure className="ts-code">
      <figcaption className="ts-code-head">
        <bdi>{title}</bdi>
        <CopyButton text={text} />
      </figcaption>
      {/* Scrolled by keyboard too. */}
      <pre tabIndex={0} role="group" aria-label={strings.cards.code(title)} dir="ltr">
        <code>{text}</code>
      </pre>
    </figure>
  );
});

/** A button that copies a text, and says for a moment that it did. */
const COPIED_FOR_MS = 2_000;

function CopyButton({ text }: { readonly text: string }) {
  const { strings } = useThreadContext();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_FOR_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (): void => {
    // Refused where the page may not, or isn't served safely: nothing is said then.
    navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => {},
    );
  };
  return (
    <button type="button" className="ts-quiet-button" onClick={copy}>
      {copied ? strings.cards.copied : strings.cards.copy}
    </button>
  );
}
