/** What the agent thinks: open while it comes, shut once it is there, and as the person wants from their first click on. */
import type { ReactNode } from "react";
import type { BlockProps } from "../components.ts";
import { useShared } from "../context.ts";
import { formatDuration } from "../format.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { useOpen } from "../hooks/use-expanded.ts";
import { Disclosure } from "../ui/disclosure.tsx";

export function ThinkingBlock({ turn, index }: BlockProps): ReactNode {
  const { strings } = useShared();
  const block = useBlock(turn, index, "thinking");
  const isStreaming = block?.end === null;
  const [isOpen, toggle] = useOpen(turn, index, isStreaming);
  if (block === null) return null;
  const { thread } = strings;
  const took = block.ended_at === null ? null : block.ended_at - block.started_at;
  const head = (
    <>
      <span className={isStreaming ? "ts-shimmer" : undefined}>
        {isStreaming ? thread.thinking : thread.thought}
      </span>
      {took !== null && took >= 1000 && <span className="ts-meta">{formatDuration(strings, took)}</span>}
    </>
  );
  return (
    <Disclosure className="ts-thinking" isOpen={isOpen} onToggle={toggle} head={head}>
      <div className="ts-plain" dir="auto">
        {block.text}
      </div>
    </Disclosure>
  );
}
