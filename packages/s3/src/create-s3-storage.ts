/**
 * `createS3Storage` keeps the bytes of blobs and uploads in a bucket of Amazon S3 or a compatible server.
 *
 * Invariant: objects have a type that no browser runs, and downloads get theirs from the signed URL. A signed upload
 * accepts exactly one content, because its length and its SHA-256 are signed. Every request has a timeout that is shorter
 * than the time for which a reserved object may be written.
 */
import { addAbortSignal, Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CopyObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  NotFound,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { ObjectStorage } from "@turnstream/server";
import { CONTENT_TYPE, putBytes, putStream } from "./put-stream.ts";

export type { ObjectStorage } from "@turnstream/server";

export interface S3StorageOptions extends Pick<
  S3ClientConfig,
  "region" | "endpoint" | "forcePathStyle" | "credentials"
> {
  readonly bucket: string;
  /** A folder in the bucket, such as `"production/"`, if other data is in the same bucket. @default "" */
  readonly prefix?: string;
  /** `"direct"`: clients upload large files to the bucket. `"gateway"`: they send them to the gateway. @default "direct" */
  readonly uploads?: "direct" | "gateway";
  /** `"redirect"`: clients download from the bucket. `"gateway"`: the gateway sends the bytes. @default "redirect" */
  readonly downloads?: "redirect" | "gateway";
  /** How long one request to the bucket may take. At most 1,800,000. @default 120_000 */
  readonly timeoutMs?: number;
}

const MAX_TIMEOUT_MS = 30 * 60 * 1_000;
/** The most keys of one delete request. */
const BATCH = 1_000;

/** @throws TypeError if an option is invalid */
export function createS3Storage(options: S3StorageOptions): ObjectStorage {
  const { bucket, prefix = "", timeoutMs = 120_000, ...others } = options;
  const { uploads = "direct", downloads = "redirect", ...config } = others;
  if (bucket === "") throw new TypeError("`bucket` must not be empty.");
  if (!/^([\w.-]+\/)*$/.test(prefix))
    throw new TypeError(`\`prefix\` must be empty or end with "/", got "${prefix}".`);
  if (!(timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS))
    throw new TypeError(`\`timeoutMs\` must be 1 to ${MAX_TIMEOUT_MS}, got ${timeoutMs}.`);
  // Compatible servers may not know the checksums that the SDK adds by default.
  const client = new S3Client({ ...config, requestChecksumCalculation: "WHEN_REQUIRED" });
  const at = (key: string) => ({ Bucket: bucket, Key: `${prefix}${key}` });
  const limit = () => ({ abortSignal: AbortSignal.timeout(timeoutMs) });

  async function deleteKeys(keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += BATCH) {
      const Objects = keys.slice(from, from + BATCH).map((Key) => ({ Key }));
      const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } });
      const { Errors = [] } = await client.send(command, limit());
      if (Errors.length > 0) throw new Error(`${Errors.length} objects could not be deleted`);
    }
  }

  return {
    async put(key, body) {
      if (body instanceof Uint8Array) await putBytes(client, at(key), body, limit);
      else await putStream(client, at(key), body, limit);
    },
    async get(key, range) {
      const Range = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end - 1}` };
      try {
        const { abortSignal } = limit();
        const { Body } = await client.send(new GetObjectCommand({ ...at(key), ...Range }), { abortSignal });
        // The SDK's own signal ends with the response head.
        return Body instanceof Readable ? addAbortSignal(abortSignal, Body) : null;
      } catch (error) {
        return nullIfMissing(error);
      }
    },
    async head(key) {
      try {
        const command = new HeadObjectCommand({ ...at(key), ChecksumMode: "ENABLED" });
        const { ContentLength, ChecksumSHA256 } = await client.send(command, limit());
        return { size: ContentLength ?? 0, sha256: ChecksumSHA256 ?? null };
      } catch (error) {
        return nullIfMissing(error);
      }
    },
    async copy(from, to) {
      const CopySource = `${bucket}/${prefix}${from}`;
      try {
        await client.send(new CopyObjectCommand({ ...at(to), CopySource }), limit());
        return true;
      } catch (error) {
        return nullIfMissing(error) ?? false;
      }
    },
    delete: (keys) => deleteKeys(keys.map((key) => `${prefix}${key}`)),
    async deletePrefix(start) {
      const Prefix = `${prefix}${start}`;
      while (true) {
        const { Contents = [] } = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix }),
          limit(),
        );
        const keys = Contents.flatMap(({ Key }) => Key ?? []);
        if (keys.length === 0) break;
        await deleteKeys(keys);
      }
      const { Uploads = [] } = await client.send(
        new ListMultipartUploadsCommand({ Bucket: bucket, Prefix }),
        limit(),
      );
      for (const { Key, UploadId } of Uploads)
        await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }), limit());
    },
    async list(page) {
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        MaxKeys: page.limit,
        ...(page.after === "" ? {} : { StartAfter: `${prefix}${page.after}` }),
      });
      const { Contents = [] } = await client.send(command, limit());
      return Contents.map(({ Key = "", LastModified }) => ({
        key: Key.slice(prefix.length),
        changedAt: LastModified?.getTime() ?? 0,
      }));
    },
    async signUpload(key, { size, sha256 }, lifeMs) {
      if (uploads === "gateway") return null;
      const headers = { "content-type": CONTENT_TYPE, "x-amz-checksum-sha256": sha256 };
      const command = new PutObjectCommand({
        ...at(key),
        ContentLength: size,
        ContentType: CONTENT_TYPE,
        ChecksumSHA256: sha256,
      });
      const url = await getSignedUrl(client, command, {
        expiresIn: Math.floor(lifeMs / 1_000),
        // As headers that the client must send, so that the bucket compares them with the content.
        unhoistableHeaders: new Set(["x-amz-checksum-sha256"]),
        signableHeaders: new Set(["host", "content-length", ...Object.keys(headers)]),
      });
      return { url, method: "PUT", headers };
    },
    async signDownload(key, { contentType, contentDisposition, cacheControl }, lifeMs) {
      if (downloads === "gateway") return null;
      const command = new GetObjectCommand({
        ...at(key),
        ResponseContentType: contentType,
        ResponseContentDisposition: contentDisposition,
        ResponseCacheControl: cacheControl,
      });
      return getSignedUrl(client, command, { expiresIn: Math.floor(lifeMs / 1_000) });
    },
  };
}

function nullIfMissing(error: unknown): null {
  if (error instanceof NoSuchKey || error instanceof NotFound) return null;
  if (error instanceof S3ServiceException && error.name === "NoSuchKey") return null;
  throw error;
}
