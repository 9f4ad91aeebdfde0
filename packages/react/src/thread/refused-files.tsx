/**
 * `RefusedFiles` names the files that were not added to the message, with the reason. Screen readers announce it.
 * Invariant: it shows only names and limits, never the value of `accept`, which is not for users.
 */
import type { AttachmentLimits, RefusedFile } from "@turnstream/client/view";
import { ATTACHMENT_LIMITS } from "@turnstream/client/view";
import type { ReactNode } from "react";
import { formatSize } from "../format.ts";
import type { CardStrings } from "../strings/cards.ts";
import { Icon } from "../ui/icons.tsx";
import { visibleText } from "../visible-text.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

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
