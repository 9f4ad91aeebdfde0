/**
 * `AttachmentList` shows the files of the message being written, each with a thumbnail or an icon, its progress and a
 * remove button. `RefusedFiles` names the files that were not added, with the reason.
 * Invariant: `useComposer` runs the uploads. The reasons of failed uploads are shown below the list,
 * each once.
 */
import { type ReactNode, useEffect, useState } from "react";
import { formatPercent, formatSize } from "../format.ts";
import { errorText } from "../error-text.ts";
import {
  ATTACHMENT_LIMITS,
  type Attachment,
  type AttachmentLimits,
  type RefusedFile,
} from "@turnstream/client/view";
import { Icon } from "../ui/icons.tsx";
import { usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { Button } from "../ui/button.tsx";
import type { CardStrings } from "../strings/cards.ts";
import { visibleText } from "../visible-text.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";

export interface AttachmentListProps {
  readonly files: readonly Attachment[];
  readonly onRemove: (id: string) => void;
}

export function AttachmentList({ files, onRemove }: AttachmentListProps): ReactNode {
  const strings = useStrings();
  const { thread } = strings;
  const root = usePart("attachments", "ts-chips ts-attachments");
  const failed = files.filter(({ status }) => status === "failed");
  // Several uploads usually fail for the same reason.
  const reasons = new Set(failed.map(({ error }) => errorText(strings, error)));
  return (
    <>
      <ul {...root} aria-label={thread.files}>
        {files.map((file) => (
          <li key={file.id} className="ts-chip" data-status={file.status}>
            <Thumbnail source={file.source} />
            <span className="ts-chip-name">{file.name}</span>
            <UploadProgress file={file} />
            <Button
              className="ts-chip-remove"
              aria-label={thread.removeFile(file.name)}
              onClick={() => onRemove(file.id)}
            >
              <Icon name="close" />
            </Button>
          </li>
        ))}
      </ul>
      {reasons.size > 0 && (
        <div className="ts-fail ts-small ts-attachments-why">{[...reasons].join(" ")}</div>
      )}
    </>
  );
}

/** Shows a picture as a thumbnail, and any other file as an icon. */
function Thumbnail({ source }: { readonly source: Blob }): ReactNode {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!source.type.startsWith("image/")) return undefined;
    const created = URL.createObjectURL(source);
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [source]);
  if (url === null) return <Icon name="file" />;
  // The name stands beside it. A picture that the browser can't show, or may not load, has an icon.
  return <img className="ts-chip-thumbnail" src={url} alt="" onError={() => setUrl(null)} />;
}

function UploadProgress({ file }: { readonly file: Attachment }): ReactNode {
  const strings = useStrings();
  const { thread } = strings;
  if (file.status === "done") return <span className="ts-faint">{formatSize(strings, file.size)}</span>;
  if (file.status === "failed") return <span className="ts-fail">{thread.uploadFailed}</span>;
  const share = file.size === 0 ? 0 : Math.min(1, file.sentBytes / file.size);
  return (
    <>
      <span className="ts-faint">{formatPercent(strings, share)}</span>
      <progress className="ts-chip-progress" value={share} aria-label={thread.uploading(file.name)} />
    </>
  );
}

export interface RefusedFilesProps {
  readonly files: readonly RefusedFile[];
  readonly limits: AttachmentLimits;
  readonly onDismiss: () => void;
}

const MAX_NAMES = 3;
const REASONS = ["type", "size", "count"] as const;

export function RefusedFiles({ files, limits, onDismiss }: RefusedFilesProps): ReactNode {
  const strings = useCardStrings();
  const texts = strings.composer;
  return (
    <div className="ts-refused">
      <div role="alert">
        {REASONS.map((reason) => {
          const names = files.flatMap((file) => (file.reason === reason ? [file.name] : []));
          if (names.length === 0) return null;
          return (
            <p key={reason}>{texts.notAdded(listNames(names, strings), explain(reason, limits, strings))}</p>
          );
        })}
      </div>
      <Button className="ts-chip-remove" aria-label={texts.dismiss} onClick={onDismiss}>
        <Icon name="close" />
      </Button>
    </div>
  );
}

/** Isolated, because a name can have another direction than the text. */
function listNames(names: readonly string[], { locale, composer }: CardStrings): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => `\u2068${visibleText(name)}\u2069`);
  const more = names.length - shown.length;
  return new Intl.ListFormat(locale).format(more > 0 ? [...shown, composer.moreFiles(more)] : shown);
}

function explain(
  reason: RefusedFile["reason"],
  { accept = ATTACHMENT_LIMITS.accept, maxFileBytes, maxFiles }: AttachmentLimits,
  strings: CardStrings,
): string {
  const texts = strings.composer;
  if (reason === "size")
    return texts.maxSize(formatSize(strings, maxFileBytes ?? ATTACHMENT_LIMITS.maxFileBytes));
  if (reason === "count") return texts.maxFiles(maxFiles ?? ATTACHMENT_LIMITS.maxFiles);
  const kinds = describeAccept(accept, texts.kinds);
  return kinds.length === 0
    ? texts.noFiles
    : texts.accepted(new Intl.ListFormat(strings.locale).format(kinds));
}

/** The last part of media types that are not called like their files. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  document: "DOCX",
  sheet: "XLSX",
  presentation: "PPTX",
  msword: "DOC",
  "ms-excel": "XLS",
};

/** Returns the accepted types as users know them: "images" for `image/*`, "PDF" for `.pdf` or `application/pdf`. */
export function describeAccept(accept: string, kinds: Readonly<Record<string, string>>): string[] {
  const names = accept.split(",").flatMap((part) => {
    const kind = part.trim().toLowerCase();
    const [group = "", type = ""] = kind.split("/");
    if (kind === "") return [];
    if (type === "*" || kind === "text/plain") return [kinds[group] ?? group];
    const last = kind.replace(/\+.*/, "").split(/[./]/).at(-1) ?? "";
    return [TYPE_NAMES[last] ?? last.toUpperCase()];
  });
  return [...new Set(names)];
}
