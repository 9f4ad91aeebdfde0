/**
 * `FileInput` uploads a file to the session as soon as it is chosen. The value of the form field only references the
 * upload.
 * Invariant: the value is null until the upload is complete. A newer file or unmounting aborts the upload, and its
 * result is then ignored.
 */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useThreadContext } from "../context.ts";
import { formatPercent, formatSize } from "../format.ts";
import { errorText } from "../error-text.ts";
import { Icon } from "../ui/icons.tsx";
import { visibleText } from "../visible-text.ts";
import type { InputProps } from "./form-inputs.tsx";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

type UploadProgress = { readonly share: number } | { readonly error: unknown } | null;

export function FileInput(props: InputProps): ReactNode {
  const { session } = useThreadContext();
  const strings = useCardStrings();
  const cardStrings = strings.cards;
  const { id, value, onValue, onLeave, isDisabled, isInvalid, describedBy, field } = props;
  const [progress, setProgress] = useState<UploadProgress>(null);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const upload = (file: File): void => {
    abort.current?.abort();
    const mine = new AbortController();
    abort.current = mine;
    onValue(null);
    setProgress({ share: 0 });
    const onProgress = (sent: number, all: number): void => {
      if (!mine.signal.aborted) setProgress({ share: all === 0 ? 0 : sent / all });
    };
    const send = async (): Promise<void> => {
      const done = await session.uploadFile(file, { name: file.name, signal: mine.signal, onProgress });
      if (mine.signal.aborted) return;
      setProgress(null);
      onValue({ upload: done.id, name: done.name, media_type: done.media_type, size: done.size });
      onLeave();
    };
    send().catch((error: unknown) => {
      if (!mine.signal.aborted) setProgress({ error });
    });
  };
  const chosen =
    typeof value === "object" && value !== null ? (value as { name?: string; size?: number }) : null;
  const name = visibleText(chosen?.name ?? "");
  return (
    <div className="ts-file-input">
      {chosen === null ? (
        // The browser's own button has the language of the browser.
        <label className="ts-button ts-file-pick">
          <input
            id={id}
            className="ts-sr"
            type="file"
            disabled={isDisabled}
            aria-invalid={isInvalid}
            aria-required={field.required}
            aria-describedby={describedBy}
            onBlur={onLeave}
            onChange={(event) => {
              const file = event.target.files?.[0];
              if (file !== undefined) upload(file);
            }}
          />
          <Icon name="file" />
          {cardStrings.chooseFile}
        </label>
      ) : (
        <span className="ts-file-chosen">
          <Icon name="file" />
          <bdi>{name}</bdi>
          <span className="ts-faint">{formatSize(strings, chosen.size ?? 0)}</span>
          <Button
            id={id}
            className="ts-quiet-button"
            aria-label={cardStrings.removeFile(name)}
            disabled={isDisabled}
            onClick={() => onValue(null)}
          >
            <Icon name="close" />
          </Button>
        </span>
      )}
      {progress !== null && (
        <span className={"error" in progress ? "ts-fail" : "ts-faint"}>
          {"error" in progress
            ? `${cardStrings.uploadFailed} ${errorText(strings, progress.error)}`
            : cardStrings.uploading(formatPercent(strings, progress.share))}
        </span>
      )}
    </div>
  );
}
