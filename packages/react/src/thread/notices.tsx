/**
 * `StoppedNotice` and `ErrorNotice` show why a turn ended early.
 * Invariant: a retry is offered only for the last turn, and only if its error can be retried. A notice without a text
 * shows one of the strings.
 */
import type { ReactNode } from "react";
import type { BlockProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { useAction } from "../hooks/use-action.ts";
import { useStoreSelector } from "../hooks/use-session-selector.ts";

export function StoppedNotice({ turnId, blockIndex }: BlockProps): ReactNode {
  const { strings } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "notice");
  if (block === null) return null;
  return (
    <div className="ts-stopped">
      <span className="ts-dot" data-dot="stopped" />
      {block.text || strings.thread.stopped}
    </div>
  );
}

export function ErrorNotice({ turnId, blockIndex }: BlockProps): ReactNode {
  const { strings, session } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "notice");
  const isLast = useStoreSelector("turns", (store) => store.getTurnIds().at(-1) === turnId);
  const { isBusy, problem, run } = useAction();
  if (block === null) return null;
  return (
    <div className="ts-error">
      <span>{block.text || strings.thread.failed}</span>
      {block.error?.can_retry === true && isLast && (
        <button
          type="button"
          className="ts-button"
          disabled={isBusy}
          onClick={() => run(() => session.retry(turnId))}
        >
          {strings.thread.retry}
        </button>
      )}
      {problem !== null && <span className="ts-error-more">{problem}</span>}
    </div>
  );
}
