/** How a turn ended when it was cut short: stopped by a person, or failed, with another try where that can help. */
import { type ReactNode, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useShared } from "../context.ts";
import { useBlock } from "../hooks/use-block.ts";
import { useStore } from "../hooks/use-view.ts";

export function StoppedNotice({ turn, index }: BlockProps): ReactNode {
  const { strings } = useShared();
  const block = useBlock(turn, index, "notice");
  if (block === null) return null;
  return (
    <div className="ts-stopped">
      <span className="ts-dot" data-dot="stopped" />
      {block.text || strings.thread.stopped}
    </div>
  );
}

export function ErrorNotice({ turn, index }: BlockProps): ReactNode {
  const { strings, session } = useShared();
  const block = useBlock(turn, index, "notice");
  const isLast = useStore("turns", (store) => store.turnIds().at(-1) === turn);
  const [isAsking, setAsking] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  if (block === null) return null;
  const retry = async (): Promise<void> => {
    setAsking(true);
    setRefusal(null);
    try {
      await session.retry(turn);
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    }
    setAsking(false);
  };
  return (
    <div className="ts-error">
      <span>{refusal ?? (block.text || strings.thread.failed)}</span>
      {block.error?.can_retry === true && isLast && (
        <button type="button" className="ts-button" disabled={isAsking} onClick={() => void retry()}>
          {strings.thread.retry}
        </button>
      )}
    </div>
  );
}
