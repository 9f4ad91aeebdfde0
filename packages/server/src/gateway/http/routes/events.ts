/** `GET /sessions/{session}/events`: a session as an event stream, in any dialect, from the beginning or from a cursor. */
import { z } from "zod";
import { DIALECTS } from "../../encoding/stream-format.ts";
import { sessionStream } from "../../sse/session-stream.ts";
import { defineRoute } from "../route.ts";

const query = z.strictObject({
  dialect: z.enum(DIALECTS).default("blocks"),
  after: z.string().exactOptional(),
  include_tool_tags: z.enum(["true", "false"]).default("false"),
});

export const eventRoutes = defineRoute({
  method: "GET",
  path: "/sessions/{session}/events",
  summary: "Streams the events of a session, from now or after a cursor.",
  scope: "read",
  query,
  handle: async ({ context, ref, query: { dialect, after, include_tool_tags }, headers }) => {
    const options = {
      after: resolveCursor(after, headers.get("last-event-id")),
      // A client of 002 reads one answer to its [DONE]; the others stay for the next.
      ...(dialect === "responses" ? { untilIdle: true } : {}),
    };
    const format = { dialect, wire: "sse", includeToolTags: include_tool_tags === "true" } as const;
    return { status: 200, stream: sessionStream(context, ref, format, async () => options) };
  },
});

/** A client that reconnects sends the header beside its original address: the header is the newer one. */
function resolveCursor(after: string | undefined, header: string | undefined): string | null {
  const inHeader = header === "" ? undefined : header;
  const inQuery = after === "" ? undefined : after;
  return inHeader ?? inQuery ?? null;
}
