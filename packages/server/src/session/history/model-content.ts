/**
 * `ModelContent` is the stored result of a call for the model; `modelContentParts` returns it in the shape of the
 * `tasks` dialect, and `textParts` without its images. Pure.
 *
 * The three are types, because TypeScript doesn't accept JSON as an interface.
 *
 * Invariant: wrapped references come before the remaining content, and an image of a reference inside it. The runtime
 * writes it to journals and `readTurnResult` reads it.
 */
import type { Json } from "@turnstream/protocol";
import { defined } from "../../util/defined.ts";

export type ContentPart = {
  readonly type: "text";
  readonly text: string;
  /** The id of the reference that the part belongs to. */
  readonly id?: number;
  readonly tags?: readonly string[];
};

/** An image that the model sees. */
export type StoredImage = {
  /** A stable URL of the bytes: of a blob or upload of the session, or a data URL. */
  readonly url: string;
  readonly mediaType: string;
  readonly size: number;
  /** The id of the reference that the image belongs to. */
  readonly id?: number;
};

interface ImagePart {
  readonly type: "image_url";
  readonly image_url: { readonly url: string };
  readonly id?: number;
}

export type ModelContent = {
  readonly status: "success" | "error";
  /** The tool's content for the model, without references. */
  readonly content: Json;
  /** The wrapped references of the result. */
  readonly pool: readonly ContentPart[];
  /** Absent without images, and for an agent whose model sees no images. */
  readonly images?: readonly StoredImage[];
};

export function modelContentParts(content: ModelContent): (ContentPart | ImagePart)[] {
  const parts: (ContentPart | ImagePart)[] = textParts(content);
  for (const { url, id } of content.images ?? []) {
    const image = { type: "image_url" as const, image_url: { url }, ...defined({ id }) };
    // Before the part that closes the reference.
    const closing = id === undefined ? -1 : parts.findLastIndex((part) => part.id === id);
    parts.splice(closing < 0 ? parts.length : closing, 0, image);
  }
  return parts;
}

export function textParts({ content, pool }: ModelContent): ContentPart[] {
  const text = plainText(content);
  return [...pool, ...(text === "" ? [] : [{ type: "text" as const, text }])];
}

export function plainText(content: Json): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}
