/**
 * `fileRoutes` upload and download files as streams, or let the client exchange them with the object storage.
 * Invariant: a file is accessible in its own session only. Uploads are limited per file and per session, and one that
 * declares too many bytes is refused before they arrive. Downloads have `safeDownloadHeaders` and are not cached,
 * because files are untrusted content. The file's id is derived from the idempotency key, so that a repeated upload
 * creates no second file. A repeat with other bytes is a conflict.
 */
import { createHash } from "node:crypto";
import { restBodies, restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { safeDownloadHeaders } from "../../../session/blobs/safe-headers.ts";
import { redirectToObject } from "../../../session/blobs/redirect-to-object.ts";
import {
  completeUpload,
  readUpload,
  startUpload,
  uploadFile,
  type UploadLimits,
  type UploadResult,
} from "../../../session/blobs/upload.ts";
import { isId } from "../../../util/names.ts";
import type { Caller } from "../../caller.ts";
import { RequestError } from "../../errors.ts";
import type { GatewayContext, RouteResult } from "../../context.ts";
import { parseIdempotencyKey, requestDigest, runIdempotent } from "../idempotency.ts";
import { type Route, type RouteContext, defineRoute } from "../route.ts";

const MAX_TYPE_LENGTH = 200;
const UPLOAD_PATH = "/sessions/{session}/files";
const uploadQuery = z.strictObject({ name: z.string().min(1).max(300) });
type UploadContext = RouteContext<unknown, z.infer<typeof uploadQuery>>;

const upload = defineRoute({
  method: "POST",
  path: UPLOAD_PATH,
  summary: "Uploads a file. Repeat an interrupted upload with the same `idempotency-key`.",
  scope: "write",
  rawBody: true,
  idempotent: "itself",
  query: uploadQuery,
  responseSchema: restReplies.file,
  async handle(routeContext) {
    const { context, caller, ref, query, headers } = routeContext;
    const length = headers.get("content-length");
    const maxBytes = Math.min(context.limits.maxUploadBytes, context.limits.maxSessionUploadBytes);
    if (Number(length ?? 0) > maxBytes)
      throw new RequestError("TOO_LARGE", `A file must have at most ${maxBytes} bytes.`);
    const key = headers.get("idempotency-key");
    if (key === undefined) return storeFile(routeContext, context.env.id());
    const id = toFileId(parseIdempotencyKey(key));
    const request = {
      route: `POST ${UPLOAD_PATH}`,
      key,
      // The bytes can be read only once, so they are compared with the stored ones below.
      digest: requestDigest(ref.session, query, length, headers.get("content-type")),
      session: ref.session,
    };
    let isStored = false;
    const result = await runIdempotent(context, caller, request, async () => {
      const stored = await storeFile(routeContext, id);
      isStored = true;
      return stored;
    });
    if (!isStored) await storeFile(routeContext, id);
    return result;
  },
});

async function storeFile(
  { context, caller, ref, query, headers, bytes }: UploadContext,
  fileId: string,
): Promise<RouteResult> {
  const uploaded = await uploadFile(
    context,
    ref,
    {
      id: fileId,
      name: query.name,
      mediaType: (headers.get("content-type") ?? "").slice(0, MAX_TYPE_LENGTH),
      body: bytes,
      userId: caller.user,
    },
    await uploadLimits(context, caller),
  );
  return { status: 201, json: toReply(uploaded) };
}

async function uploadLimits({ limits, limiter }: GatewayContext, caller: Caller): Promise<UploadLimits> {
  const { maxUploadBytes, maxSessionUploadBytes } = limits;
  const owner = await limiter.ownerLimits(caller);
  return { bytes: maxUploadBytes, sessionBytes: maxSessionUploadBytes, owner };
}

function toReply({ id, url, name, mediaType, size }: UploadResult) {
  return { id, url, name, media_type: mediaType, size };
}

function toFileId(key: string): string {
  return `k.${createHash("sha256").update(key).digest("hex")}`;
}

const get = defineRoute({
  method: "GET",
  path: "/sessions/{session}/files/{file}",
  summary: "Downloads an uploaded file.",
  scope: "read",
  async handle({ context, ref, params, isHead }) {
    const file = await readUpload(context, ref, params["file"] ?? "");
    if (file === null) throw new RequestError("NOT_FOUND", "This session has no such file.");
    const headers = {
      ...safeDownloadHeaders(file.mediaType, file.size, file.name),
      "cache-control": "no-store",
    };
    // The URL of the object storage is signed for GET.
    const redirect = await redirectToObject(context.store, isHead ? null : file.object, headers, null);
    if (redirect !== null) return { status: 302, headers: redirect };
    return { status: 200, bytes: file.body, headers };
  },
});

const start = defineRoute({
  method: "POST",
  path: "/sessions/{session}/uploads",
  summary:
    "Starts an upload to the object storage. A repeat with the same `idempotency-key` starts it again.",
  scope: "write",
  body: restBodies.upload,
  responseSchema: restReplies.upload,
  async handle({ context, caller, ref, body, headers }) {
    const key = headers.get("idempotency-key");
    const id = key === undefined ? context.env.id() : toFileId(parseIdempotencyKey(key));
    const { name, media_type, size, sha256 } = body;
    const started = await startUpload(
      context,
      ref,
      { id, name, mediaType: media_type.slice(0, MAX_TYPE_LENGTH), size, sha256, userId: caller.user },
      await uploadLimits(context, caller),
    );
    if (started !== null && "id" in started)
      return { status: 200, json: { id, file: toReply(started), send: null } };
    return { status: 201, json: { id, file: null, send: started } };
  },
});

const complete = defineRoute({
  method: "POST",
  path: "/sessions/{session}/uploads/{file}/complete",
  summary:
    "Completes an upload that was sent to the object storage. Then messages and forms can refer to it.",
  scope: "write",
  responseSchema: restReplies.file,
  async handle({ context, ref, params }) {
    const id = params["file"] ?? "";
    if (!isId(id)) throw new RequestError("NOT_FOUND", "This session has no such upload.");
    return { status: 200, json: toReply(await completeUpload(context, ref, id)) };
  },
});

export const fileRoutes: readonly Route[] = [upload, start, complete, get];
