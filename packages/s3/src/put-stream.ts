/**
 * `putStream` writes a stream of unknown length to a bucket: a short one in one request, a longer one in parts.
 *
 * Invariant: at most one part is in memory. No object exists before the stream has ended, and a failed write aborts its
 * parts. If the process dies, `deletePrefix` aborts them.
 */
import { createHash } from "node:crypto";
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";

/** S3 requires at least 5 MiB for all parts but the last. */
const PART_BYTES = 8 * 1024 * 1024;
/** No browser runs or shows content of this type. */
export const CONTENT_TYPE = "application/octet-stream";

interface ObjectName {
  readonly Bucket: string;
  readonly Key: string;
}

/** Limits one request. */
type Limit = () => { readonly abortSignal: AbortSignal };

export async function putBytes(
  client: S3Client,
  at: ObjectName,
  body: Uint8Array,
  limit: Limit,
): Promise<void> {
  const ChecksumSHA256 = createHash("sha256").update(body).digest("base64");
  const command = { ...at, Body: body, ContentType: CONTENT_TYPE, ChecksumSHA256 };
  await client.send(new PutObjectCommand(command), limit());
}

export async function putStream(
  client: S3Client,
  at: ObjectName,
  body: AsyncIterable<Uint8Array>,
  limit: Limit,
): Promise<void> {
  let UploadId: string | undefined;
  const parts: CompletedPart[] = [];
  const sendPart = async (bytes: Uint8Array): Promise<void> => {
    UploadId ??= (
      await client.send(new CreateMultipartUploadCommand({ ...at, ContentType: CONTENT_TYPE }), limit())
    ).UploadId;
    const PartNumber = parts.length + 1;
    const command = new UploadPartCommand({ ...at, UploadId, PartNumber, Body: bytes });
    const { ETag } = await client.send(command, limit());
    parts.push({ PartNumber, ETag });
  };
  try {
    let last = new Uint8Array(0);
    for await (const part of partsOf(body)) {
      if (part.byteLength === PART_BYTES) await sendPart(part);
      else last = part;
    }
    if (parts.length === 0) return await putBytes(client, at, last, limit);
    if (last.byteLength > 0) await sendPart(last);
    const complete = { ...at, UploadId, MultipartUpload: { Parts: parts } };
    await client.send(new CompleteMultipartUploadCommand(complete), limit());
  } catch (error) {
    // If this fails too, `deletePrefix` aborts the parts later.
    if (UploadId !== undefined)
      await client.send(new AbortMultipartUploadCommand({ ...at, UploadId }), limit()).catch(() => undefined);
    throw error;
  }
}

/** Merges chunks into parts. All but the last have `PART_BYTES`. The buffer of a part is used again for the next one. */
async function* partsOf(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array<ArrayBuffer>> {
  let buffer = new Uint8Array(0);
  let filled = 0;
  for await (const bytes of body)
    for (let at = 0; at < bytes.byteLength;) {
      if (filled === buffer.byteLength && filled < PART_BYTES) {
        const larger = new Uint8Array(Math.min(PART_BYTES, Math.max(2 * filled, bytes.byteLength)));
        larger.set(buffer);
        buffer = larger;
      }
      const part = bytes.subarray(at, at + buffer.byteLength - filled);
      buffer.set(part, filled);
      filled += part.byteLength;
      at += part.byteLength;
      if (filled === PART_BYTES) {
        yield buffer;
        filled = 0;
      }
    }
  if (filled > 0) yield buffer.subarray(0, filled);
}
