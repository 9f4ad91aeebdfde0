/** The sub-port of blobs: the whole of what an event only holds a preview of. Never looks inside one. */
import { checkId, checkText } from "../rules/arguments.ts";
import { StoreError } from "../errors.ts";
import type { Ref } from "../refs.ts";

/** The most that one blob may hold. */
export const MAX_BLOB_BYTES = 64 * 1024 * 1024;

export interface Blob {
  readonly id: string;
  readonly mediaType: string;
  /** What a download of it is called. */
  readonly name?: string;
  readonly body: Uint8Array;
}

export interface Blobs {
  /**
   * "already" when the session has a blob of this id: the first stays. Throws TOO_LARGE above MAX_BLOB_BYTES,
   * NOT_FOUND without the session.
   */
  put(ref: Ref, blob: Blob): Promise<"stored" | "already">;
  get(ref: Ref, id: string): Promise<Blob | null>;
  /** Copies blobs of a session into another of the same tenant, under the same ids; @returns how many. */
  copy(from: Ref, to: Ref, ids: readonly string[]): Promise<number>;
}

/** @returns media type and name as they can be stored */
export function checkBlob({ id, mediaType, name, body }: Blob): Pick<Blob, "mediaType" | "name"> {
  checkId(id, "blob id");
  if (body.byteLength > MAX_BLOB_BYTES)
    throw new StoreError("TOO_LARGE", `blob ${id} of ${body.byteLength} bytes`);
  return {
    mediaType: checkText(mediaType, "media type"),
    ...(name === undefined ? {} : { name: checkText(name, "name") }),
  };
}
