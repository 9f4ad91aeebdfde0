/** What the agent says. */
import { isOpen } from "@turnstream/protocol";
import type { ReactNode } from "react";
import type { BlockProps } from "../components.ts";
import { useShared } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";

export function TextBlock({ turn, index }: BlockProps): ReactNode {
  const { Markdown } = useShared().components;
  const block = useBlock(turn, index, "text");
  if (block === null) return null;
  const { text, annotations } = block;
  return (
    <div className="ts-text">
      <Markdown text={text} isStreaming={isOpen(block)} annotations={annotations} turn={turn} />
    </div>
  );
}
