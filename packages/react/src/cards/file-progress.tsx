/**
 * `FileProgress` shows the files of a message while they are read, and the outcome for each file.
 * Invariant: it only shows the block and sends no command. Names and messages are untrusted and pass `visibleText`. A
 * file without an outcome is shown as stopped once the block has ended.
 */
import type { ReactNode } from "react";
import type { BlockProps } from "../components.ts";
import { formatSize } from "../format.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { StatusDot } from "../ui/status-dot.tsx";
import { visibleText } from "../visible-text.ts";
import { usePart } from "../parts.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";

export function FileProgress({ turnId, blockIndex }: BlockProps): ReactNode {
  const strings = useCardStrings();
  const cardStrings = strings.cards;
  const block = useBlock(turnId, blockIndex, "files");
  const root = usePart("file-progress", "ts-files");
  if (block === null) return null;
  const { files, status, message, end, aborted } = block;
  const isOver = end !== null;
  const dotOf = (state: string) =>
    state === "completed" ? "done" : state === "failed" ? "error" : isOver || aborted ? "stopped" : "pending";
  const title =
    status === "failed"
      ? cardStrings.filesFailed
      : status === "completed"
        ? cardStrings.filesRead(files.length)
        : cardStrings.readingFiles(files.length);
  return (
    <div {...root} data-status={status}>
      <div className="ts-files-head">
        <StatusDot status={dotOf(status)} />
        <span>{title}</span>
        {message !== "" && <bdi className="ts-faint">{visibleText(message)}</bdi>}
      </div>
      <ul className="ts-files-list">
        {files.map((file, n) => (
          // The same file can appear twice.
          <li key={`${n} ${file.url}`}>
            <StatusDot status={dotOf(file.status)} />
            <bdi className="ts-file-name">
              {visibleText(file.name ?? lastPart(file.url)) || cardStrings.file}
            </bdi>
            {file.size !== undefined && <span className="ts-faint">{formatSize(strings, file.size)}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function lastPart(url: string): string {
  const path = url.split(/[?#]/, 1)[0] ?? "";
  return path.slice(path.lastIndexOf("/") + 1);
}
