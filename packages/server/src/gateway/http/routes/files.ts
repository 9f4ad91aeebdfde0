/**
 * `fileRoutes` upload and download files as streams.
 * Invariant: a file is accessible in its own session only. Uploads are limited per file and per session. Downloads
 * have `safeDownloadHeaders` and are not cached, because files are untrusted content. The file's id is derived from
 * the idempotency key, so that a repeated upload creates no second file.
 */
import { createHash } from "node:crypto";
import { restReplies } from "@turnstream/protocol/schema";
import { z } from "zod";
import { safeDownloadHeaders } from "../../../session/blobs/safe-headers.ts";
import { readUpload, uploadFile } from "../../../session/blobs/upload.ts";
import { RequestError } from "../../errors.ts";
import { type Route, defineRoute } from "../route.ts";

const MAX_TYPE_LENGTH = 200;

const upload = defineRoute({
  method: "POST",
  path: "/sessions/{session}/files",
  summary: "Uploads a file. Repeat an interrupted upload with the same `idempotency-key`.",
  scope: "write",
  rawBody: true,
  idempotent: true,
  query: z.strictObject({ name: z.string().min(1).max(300) }),
  responseSchema: restReplies.file,
  async handle({ context, caller, ref, query, headers, bytes }) {
    const key = headers.get("idempotency-key");
    const { maxUploadBytes, maxSessionUploadBytes } = context.limits;
    const uploaded = await uploadFile(
      context,
      ref,
      {
        id: key === undefined ? context.env.id() : toFileId(key),
        name: query.name,
        mediaType: (headers.get("content-type") ?? "").slice(0, MAX_TYPE_LENGTH),
        body: bytes,
        userId: caller.user,
      },
      {
        bytes: maxUploadBytes,
        sessionBytes: maxSessionUploadBytes,
        owner: await context.limiter.ownerLimits(caller),
      },
    );
    const { id, url, name, mediaType, size } = uploaded;
    return { status: 201, json: { id, url, name, media_type: mediaType, size } };
  },
});

function toFileId(key: string): string {
  return `k.${createHash("sha256").update(key).digest("hex")}`;
}

const get = defineRoute({
  method: "GET",
  path: "/sessions/{session}/files/{file}",
  summary: "Downloads an uploaded file.",
  scope: "read",
  async handle({ context, ref, params }) {
    const file = await readUpload(context, ref, params["file"] ?? "");
    if (file === null) throw new RequestError("NOT_FOUND", "This session has no such file.");
    const headers = {
      ...safeDownloadHeaders(file.mediaType, file.size, file.name),
      "cache-control": "no-store",
    };
    return { status: 200, bytes: file.body, headers };
  },
});

export const fileRoutes: readonly Route[] = [upload, get];
