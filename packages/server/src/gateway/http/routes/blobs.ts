/** The route at which the addresses of blobs lead somewhere: pictures, long results, artifacts. The address is the grant. */
import { createHash } from "node:crypto";
import { openBlob } from "../../../session/blobs/open-blob.ts";
import { type Route, defineRoute } from "../route.ts";

const get = defineRoute({
  method: "GET",
  path: "/blobs/{token}",
  summary: "Downloads the content of a URL from a frame, history or a snapshot.",
  scope: null,
  async handle({ context, params, headers }) {
    const { secrets, env } = context;
    const { body, headers: downloadHeaders } = await openBlob(context, params["token"] ?? "", {
      secrets,
      now: env.now(),
    });
    // The next address of the same blob is another one; what is there is not.
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
