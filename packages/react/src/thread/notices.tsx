/** How a turn ended when it was cut short: stopped by a person, or failed, with another try where that can help. */
import type { ReactNode } from "react";
import type { BlockProps } from "../components.ts";
import { useShared } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { useCommand } from "../hooks/use-action.ts";
import { useStore } from "../hooks/use-session-selector.ts";

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
  const isLast = useStore("turns", (store) => store.getTurnIds().at(-1) === turn);
  const { isBusy, problem, run } = useCommand();
  if (block === null) return null;
  return (
    <div className="ts-error">
      <span>{block.text || strings.thread.failed}</span>
      {block.error?.can_retry === true && isLast && (
        <button
          type="button"
          className="ts-button"
          disabled={isBusy}
          onClick={() => run(() => session.retry(turn))}
        >
          {strings.thread.retry}
        </button>
      )}
      {problem !== null && <span className="ts-error-more">{problem}</span>}
    </div>
  );
}
