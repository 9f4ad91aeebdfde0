/**
 * `blobRoutes` serve blobs: images, long results and artifacts.
 * Invariant: the signed token in the URL is the only authorization, so it is verified before anything else, also for a
 * 304. Every response has the headers of `openBlob`, because a blob is untrusted content.
 */
import { createHash } from "node:crypto";
import { BlobError, openBlob } from "../../../session/blobs/open-blob.ts";
import { type Route, defineRoute } from "../route.ts";

const get = defineRoute({
  method: "GET",
  path: "/blobs/{token}",
  summary: "Downloads the content of a URL from a frame, history or a snapshot.",
  scope: null,
  async handle({ context, caller, params, headers }) {
    const { secrets, env } = context;
    const opened = openBlob(context, params["token"] ?? "", { secrets, now: env.now() });
    const { body, headers: downloadHeaders } = await opened.catch((error: unknown) => {
      if (error instanceof BlobError && error.code === "BAD_ADDRESS")
        context.reportSecurityEvent({ type: "signature_invalid", reason: "file_link" }, caller.from);
      throw error;
    });
    // Each URL of a blob differs, but its content does not change.
    const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
    if (!matchesEtag(headers.get("if-none-match"), etag))
      return { status: 200, bytes: body, headers: { ...downloadHeaders, etag } };
    const { "content-length": _, ...rest } = downloadHeaders;
    return { status: 304, headers: { ...rest, etag } };
  },
});

function matchesEtag(header: string | undefined, etag: string): boolean {
  return header?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag) ?? false;
}

export const blobRoutes: readonly Route[] = [get];
