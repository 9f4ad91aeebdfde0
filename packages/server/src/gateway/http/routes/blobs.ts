/** The route at which the addresses of blobs lead somewhere: pictures, long results, artifacts. The address is the grant. */
import { createHash } from "node:crypto";
import { openBlob } from "../../../session/blobs/open-blob.ts";
import { type Route, defineRoute } from "../route.ts";

const get = defineRoute({
  method: "GET",
  path: "/blobs/{token}",
  summary: "What an address in a frame, in history or in a snapshot leads to.",
  scope: null,
  async handle({ parts, params, headers }) {
    const { secrets, env } = parts;
    const { body, headers: safe } = await openBlob(parts, params["token"] ?? "", { secrets, now: env.now() });
    // The next address of the same blob is another one; what is there is not.
    const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
    if (!isKnown(headers.get("if-none-match"), etag))
      return { status: 200, bytes: body, headers: { ...safe, etag } };
    const { "content-length": _, ...rest } = safe;
    return { status: 304, headers: { ...rest, etag } };
  },
});

function isKnown(known: string | undefined, etag: string): boolean {
  return known?.split(",").some((one) => one.trim().replace(/^W\//, "") === etag) ?? false;
}

export const blobRoutes: readonly Route[] = [get];
