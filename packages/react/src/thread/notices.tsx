/**
 * `StoppedNotice` and `ErrorNotice` show why a turn ended early.
 * Invariant: a retry is offered only for the last turn, only if its error can be retried, and not to readers of a shared
 * session. The error of a turn that was retried is not shown, because the retry shows its own outcome. `noticeText`
 * decides which text is shown.
 */
import type { ReactNode } from "react";
import type { BlockProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { noticeText } from "../notice-text.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { useAction } from "../hooks/use-action.ts";
import { useStoreSelector } from "../hooks/stores.ts";
import { usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { Button } from "../ui/button.tsx";

export function StoppedNotice({ turnId, blockIndex }: BlockProps): ReactNode {
  const { readOnly } = useThreadContext();
  const strings = useStrings();
  const block = useBlock(turnId, blockIndex, "notice");
  const root = usePart("stopped-notice", "ts-stopped");
  if (block === null) return null;
  return (
    <div {...root}>
      <span className="ts-dot" data-dot="stopped" />
      {/* The text addresses the user who stopped the turn, who is not the reader of a shared session. */}
      {readOnly ? strings.thread.announce.stopped : noticeText(strings, block)}
    </div>
  );
}

export function ErrorNotice({ turnId, blockIndex }: BlockProps): ReactNode {
  const { session, readOnly } = useThreadContext();
  const strings = useStrings();
  const block = useBlock(turnId, blockIndex, "notice");
  const isLast = useStoreSelector("turns", (store) => store.getTurnIds().at(-1) === turnId);
  const isRetried = useStoreSelector("turns", (store) => {
    const ids = store.getTurnIds();
    return store.getTurn(ids[ids.indexOf(turnId) + 1] ?? "")?.retries === turnId;
  });
  const { isBusy, problem, run } = useAction();
  const root = usePart("error-notice", "ts-error");
  if (block === null || isRetried) return null;
  return (
    <div {...root}>
      <span>{noticeText(strings, block)}</span>
      {block.error?.can_retry === true && isLast && !readOnly && (
        <Button disabled={isBusy} onClick={() => run(() => session.retry(turnId))}>
          {strings.thread.retry}
        </Button>
      )}
      {problem !== null && <span className="ts-error-more">{problem}</span>}
    </div>
  );
}
