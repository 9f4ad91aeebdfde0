/** A piece of code: its language, the code, and a button that copies it. */
import { memo } from "react";
import { useShared } from "../context.ts";
import { CopyButton } from "./copy-button.tsx";

export interface CodeBlockProps {
  readonly language: string;
  readonly text: string;
  /** What is said instead of the language, such as a file's name. */
  readonly name?: string;
}

export const CodeBlock = memo(function CodeBlock({ language, text, name }: CodeBlockProps) {
  const { strings } = useShared();
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
