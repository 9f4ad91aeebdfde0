/** What the person wrote, with its files, and how far it has come while it is on its way. */
import type { FileRef } from "@turnstream/protocol";
import type { ReactNode } from "react";
import type { MessageProps } from "../components.ts";
import { SafeLink } from "../ui/safe-link.tsx";
import { useShared } from "../context.ts";
import { formatSize } from "../format.ts";
import { useCommand } from "../hooks/use-action.ts";
import { type MessageStatus, useMessage } from "../hooks/use-message.ts";
import { problemText } from "../error-text.ts";
import { visibleText } from "../visible-text.ts";
import { Icon } from "../ui/icons.tsx";

export function UserMessage({ message: id, turn }: MessageProps): ReactNode {
  const { strings, session } = useShared();
  const words = strings.thread;
  const shown = useMessage(id, turn);
  const { isBusy, problem, run } = useCommand();
  if (shown === null) return null;
  const { message, status, error } = shown;
  const why = problem ?? (error === null ? null : problemText(strings, error));
  return (
    <div className="ts-user" data-status={status} data-message={id}>
      <span className="ts-sr">{words.you}</span>
      {message.text !== "" && (
        <div className="ts-bubble" dir="auto">
          {message.text}
        </div>
      )}
      {message.files.length > 0 && <FileList files={message.files} />}
      {"whole" in message && message.whole?.url !== undefined && (
        <SafeLink address={message.whole.url} className="ts-link ts-small">
          {words.showWhole}
        </SafeLink>
      )}
      {status !== "sent" && (
        <div className="ts-user-status">
          <span>{statusText(status, words.messageStatus)}</span>
          {why !== null && <span className="ts-fail">{why}</span>}
          <span className="ts-user-actions">
            {status === "failed" && (
              <button type="button" className="ts-link" onClick={() => session.resendMessage(id)}>
                {words.resend}
              </button>
            )}
            {status !== "sending" && (
              <button
                type="button"
                className="ts-link"
                disabled={isBusy}
                onClick={() => run(() => session.cancelMessage(id))}
              >
                {status === "queued" ? words.withdraw : words.discard}
              </button>
            )}
          </span>
        </div>
      )}
    </div>
  );
}

function statusText(status: MessageStatus, words: Readonly<Record<string, string>>): string {
  return words[status] ?? "";
}

function FileList({ files }: { readonly files: readonly FileRef[] }): ReactNode {
  const { strings } = useShared();
  return (
    <ul className="ts-chips" aria-label={strings.thread.files}>
      {files.map(({ url, name, size }, n) => (
        // The same file may come twice.
        <li key={`${n} ${url}`} className="ts-chip">
          <Icon name="file" />
          <bdi className="ts-chip-name">{visibleText(name ?? lastPart(url))}</bdi>
          {size !== undefined && <span className="ts-faint">{formatSize(strings, size)}</span>}
        </li>
      ))}
    </ul>
  );
}

function lastPart(url: string): string {
  const path = url.split(/[?#]/, 1)[0] ?? url;
  return path.slice(path.lastIndexOf("/") + 1) || url;
}
