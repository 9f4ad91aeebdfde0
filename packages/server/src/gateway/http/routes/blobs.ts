/**
 * `blobRoutes` serve blobs: images, long results and artifacts.
 * Invariant: the signed token in the URL is the only authorization, so it is verified before anything else, also for a
 * 304 and a redirect. Every response has the headers of `openBlob`, because a blob is untrusted content.
 */
import { BlobError, openBlob } from "../../../session/blobs/open-blob.ts";
import { type Route, defineRoute } from "../route.ts";

const get = defineRoute({
  method: "GET",
  path: "/blobs/{token}",
  summary: "Downloads the content of a URL from a frame, history or a snapshot.",
  scope: null,
  async handle({ context, caller, params, headers, isHead }) {
    const { secrets, env } = context;
    // The URL of the object storage is signed for GET.
    const options = { secrets, now: env.now(), mayRedirect: !isHead };
    const served = await openBlob(context, params["token"] ?? "", options).catch((error: unknown) => {
      if (error instanceof BlobError && error.code === "BAD_ADDRESS")
        context.reportSecurityEvent({ type: "signature_invalid", reason: "file_link" }, caller.from);
      throw error;
    });
    if ("redirect" in served) return { status: 302, headers: served.redirect };
    const etag = `"${served.sha256}"`;
    if (!matchesEtag(headers.get("if-none-match"), etag))
      return { status: 200, bytes: await served.read(), headers: { ...served.headers, etag } };
    const { "content-length": _, ...rest } = served.headers;
    return { status: 304, headers: { ...rest, etag } };
  },
});

function matchesEtag(header: string | undefined, etag: string): boolean {
  return header?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag) ?? false;
}

export const blobRoutes: readonly Route[] = [get];
