/**
 * `AttachmentList` shows the files of the message being written, each with a thumbnail or an icon, its progress and a
 * remove button.
 * Invariant: `useComposer` runs the uploads. The reasons of failed uploads are shown below the list,
 * each once.
 */
import { type ReactNode, useEffect, useState } from "react";
import { formatPercent, formatSize } from "../format.ts";
import { errorText } from "../error-text.ts";
import type { Attachment } from "@turnstream/client/view";
import { Icon } from "../ui/icons.tsx";
import { usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { Button } from "../ui/button.tsx";

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
