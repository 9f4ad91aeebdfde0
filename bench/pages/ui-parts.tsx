/** `Parts` renders the parts of a message as common templates do. Only the Markdown renderer differs between them. */
import { isToolUIPart, type UIMessage } from "ai";
import type { ComponentType } from "react";

export interface PartsProps {
  readonly message: UIMessage;
  readonly Markdown: ComponentType<{ readonly text: string }>;
}

export function Parts({ message, Markdown }: PartsProps) {
  return (
    <article data-role={message.role}>
      {message.parts.map((part, n) => {
        if (part.type === "text") return <Markdown key={n} text={part.text} />;
        if (part.type === "reasoning")
          return (
            <details key={n} open={part.state === "streaming"}>
              <summary>Thinking</summary>
              <Markdown text={part.text} />
            </details>
          );
        if (isToolUIPart(part))
          return (
            <details key={n} open={part.state !== "output-available"}>
              <summary>{part.type}</summary>
              <pre>{JSON.stringify(part.input, null, 2)}</pre>
              <pre>{part.state === "output-available" ? String(part.output) : ""}</pre>
            </details>
          );
        return null;
      })}
    </article>
  );
}
