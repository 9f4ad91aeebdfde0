/**
 * `UserMessage` shows a message of the user with its files, and its status until it is sent.
 * Invariant: the text is shown as written, never as Markdown. A file opens by the rules of `SafeLink`; before the server
 * has the message, it has no address that can be opened. Only a failed message can be sent again, and a message that is
 * being sent can't be discarded.
 */
import type { FileRef } from "@turnstream/protocol";
import type { ReactNode } from "react";
import type { UserMessageProps } from "../components.ts";
import { SafeLink } from "../ui/safe-link.tsx";
import { useThreadContext } from "../context.ts";
import { formatSize } from "../format.ts";
import { useAction } from "../hooks/use-action.ts";
import { type MessageStatus, useMessage } from "../hooks/use-message.ts";
import { errorText } from "../error-text.ts";
import { visibleText } from "../visible-text.ts";
import { Icon } from "../ui/icons.tsx";
import { Slot, usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { Button } from "../ui/button.tsx";

export function UserMessage({ messageId: id, turnId }: UserMessageProps): ReactNode {
  const { session, readOnly } = useThreadContext();
  const strings = useStrings();
  const threadStrings = strings.thread;
  const visible = useMessage(id, turnId);
  const { isBusy, problem, run } = useAction();
  const root = usePart("user-message", "ts-user");
  const bubble = usePart("bubble", "ts-bubble");
  if (visible === null) return null;
  const { message, status, error } = visible;
  // A turn that continues after an answer of the user has a message without content.
  if (status === "sent" && message.text === "" && message.files.length === 0) return null;
  const problemText = problem ?? (error === null ? null : errorText(strings, error));
  return (
    <div {...root} data-status={status} data-message={id}>
      <span className="ts-sr">{readOnly ? threadStrings.author : threadStrings.you}</span>
      {message.text !== "" && (
        <div {...bubble} dir="auto">
          {message.text}
        </div>
      )}
      {message.files.length > 0 && <FileList files={message.files} />}
      {"whole" in message && message.whole?.url !== undefined && (
        <SafeLink address={message.whole.url} className="ts-link ts-small">
          {threadStrings.showAll}
        </SafeLink>
      )}
      {status !== "sent" && (
        <div className="ts-user-status">
          <span>{statusText(status, threadStrings.messageStatus)}</span>
          {problemText !== null && <span className="ts-fail">{problemText}</span>}
          <span className="ts-user-actions">
            {status === "failed" && (
              <Button className="ts-link" onClick={() => session.resendMessage(id)}>
                {threadStrings.resend}
              </Button>
            )}
            {status !== "sending" && (
              <Button
                className="ts-link"
                disabled={isBusy}
                onClick={() => run(() => session.cancelMessage(id))}
              >
                {status === "queued" ? threadStrings.cancel : threadStrings.discard}
              </Button>
            )}
          </span>
        </div>
      )}
      <Slot name="MessageEnd" messageId={id} {...(turnId !== undefined && { turnId })} />
    </div>
  );
}

function statusText(status: MessageStatus, threadStrings: Readonly<Record<string, string>>): string {
  return threadStrings[status] ?? "";
}

function FileList({ files }: { readonly files: readonly FileRef[] }): ReactNode {
  const strings = useStrings();
  return (
    <ul {...usePart("files", "ts-chips")} aria-label={strings.thread.files}>
      {files.map(({ url, name, size }, n) => (
        // The same file can appear twice.
        <li key={`${n} ${url}`} className="ts-chip">
          <Icon name="file" />
          <SafeLink address={url} className="ts-link ts-chip-name" plainClassName="ts-chip-name">
            {/* An element, because the name of a file looks like a host, and the real host would stand beside it. */}
            <bdi>{visibleText(name ?? lastPathSegment(url))}</bdi>
          </SafeLink>
          {size !== undefined && <span className="ts-faint">{formatSize(strings, size)}</span>}
        </li>
      ))}
    </ul>
  );
}

function lastPathSegment(url: string): string {
  const path = url.split(/[?#]/, 1)[0] ?? url;
  return path.slice(path.lastIndexOf("/") + 1) || url;
}
