/**
 * `updateAttachments` tracks the upload of files that will be sent with a message. Pure; the hook runs the uploads.
 * Invariant: an input for a removed file changes nothing. `canSend` is false until every upload is done, so a failed
 * one must be removed first.
 *
 *   added ──▶ uploading ──▶ done ──▶ sent, with the message
 *                 │  └────▶ failed
 *                 └── removed, at any time
 */
import type { FileRef } from "@turnstream/protocol";

export interface Attachment {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly sentBytes: number;
  readonly status: "uploading" | "done" | "failed";
  /** The file reference for the message, once uploaded. */
  readonly file: FileRef | null;
  /** Why the upload failed, otherwise null. */
  readonly error: unknown;
  /** The chosen file, for a thumbnail. */
  readonly source: Blob;
}

/** A file that was not added to the message, and the limit that it exceeds. */
export interface RefusedFile {
  readonly name: string;
  /** type: not one of `accept`. size: larger than `maxFileBytes`. count: more files than `maxFiles`. */
  readonly reason: "type" | "size" | "count";
}

export interface AttachmentLimits {
  /** The accepted files, like `accept` of an `<input type=file>`; "" for none. @default all */
  readonly accept?: string | undefined;
  /** The size of the largest accepted file. A larger file is refused. @default 25_000_000, as the worker reads */
  readonly maxFileBytes?: number | undefined;
  /** The number of files of a message. Further files are refused. @default 20, as the worker reads */
  readonly maxFiles?: number | undefined;
}

/** The limits of a composer whose options have none. They match the defaults of the worker. */
export const ATTACHMENT_LIMITS = { accept: "*/*", maxFileBytes: 25_000_000, maxFiles: 20 };

/** Returns why a file can't be added to a message that has `count` files; null if it can. */
export function checkFile(
  file: { readonly name: string; readonly type: string; readonly size: number },
  count: number,
  limits: AttachmentLimits,
): RefusedFile["reason"] | null {
  const {
    accept = ATTACHMENT_LIMITS.accept,
    maxFileBytes = ATTACHMENT_LIMITS.maxFileBytes,
    maxFiles = ATTACHMENT_LIMITS.maxFiles,
  } = limits;
  if (!isAccepted(file, accept)) return "type";
  if (file.size > maxFileBytes) return "size";
  return count >= maxFiles ? "count" : null;
}

export type AttachmentInput =
  | {
      readonly type: "added";
      readonly id: string;
      readonly name: string;
      readonly size: number;
      readonly source: Blob;
    }
  | { readonly type: "progress"; readonly id: string; readonly sentBytes: number }
  | { readonly type: "done"; readonly id: string; readonly file: FileRef }
  | { readonly type: "failed"; readonly id: string; readonly error: unknown }
  | { readonly type: "removed"; readonly id: string }
  | { readonly type: "sent" };

export function updateAttachments(
  list: readonly Attachment[],
  input: AttachmentInput,
): readonly Attachment[] {
  const change = (part: Partial<Attachment>): readonly Attachment[] =>
    list.map((one) => (input.type !== "sent" && one.id === input.id ? { ...one, ...part } : one));
  switch (input.type) {
    case "added": {
      const { id, name, size, source } = input;
      return [
        ...list,
        { id, name, size, source, sentBytes: 0, status: "uploading", file: null, error: null },
      ];
    }
    case "progress":
      return change({ sentBytes: input.sentBytes });
    case "done":
      return change({ status: "done", file: input.file });
    case "failed":
      return change({ status: "failed", error: input.error });
    case "removed":
      return list.filter(({ id }) => id !== input.id);
    case "sent":
      return [];
  }
}

/** A message needs text or files, and all uploads must be done. A failed one must be removed first. */
export function canSend(text: string, list: readonly Attachment[]): boolean {
  return (text.trim() !== "" || list.length > 0) && list.every(({ status }) => status === "done");
}

/** Matches a file against `accept` like an `<input type=file>`: extensions, media types, and "image/*". */
export function isAccepted(
  { name, type }: { readonly name: string; readonly type: string },
  accept: string,
): boolean {
  const kinds = accept
    .toLowerCase()
    .split(",")
    .map((kind) => kind.trim())
    .filter((kind) => kind !== "");
  return kinds.some((kind) => {
    if (kind.startsWith(".")) return name.toLowerCase().endsWith(kind);
    if (kind === "*/*" || kind === "*") return true;
    return kind.endsWith("/*")
      ? type.toLowerCase().startsWith(kind.slice(0, -1))
      : type.toLowerCase() === kind;
  });
}
