/**
 * `RetryNotice` shows that something failed, next to a button that tries it again.
 * Invariant: it is visible text, because a part that is missing without a word can be an approval that a turn waits for.
 */
import type { ReactNode } from "react";
import type { Messages } from "../strings/messages.ts";
import { Button } from "./button.tsx";

export interface RetryNoticeProps {
  readonly strings: Pick<Messages, "thread">;
  readonly text: string;
  readonly onRetry: () => void;
}

export function RetryNotice({ strings, text, onRetry }: RetryNoticeProps): ReactNode {
  return (
    <div className="ts-broken" role="status">
      <span>{text}</span>
      <Button className="ts-link" onClick={onRetry}>
        {strings.thread.tryAgain}
      </Button>
    </div>
  );
}
