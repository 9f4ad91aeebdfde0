/**
 * `eventRoutes` serve `GET /sessions/{session}/events`: a session as an event stream, in any dialect, from the current
 * state or from a cursor.
 * Invariant: a `responses` stream ends with its turn; other streams stay open. A page without headers authenticates with
 * a ticket.
 */
import { z } from "zod";
import { hasScope } from "../../auth/access.ts";
import { DIALECTS } from "../../encoding/stream-format.ts";
import { sessionStream } from "../../sse/session-stream.ts";
import { defineRoute } from "../route.ts";

const MAX_TICKET_LENGTH = 8_000;

const query = z.strictObject({
  dialect: z.enum(DIALECTS).default("blocks"),
  last_event_id: z.string().exactOptional(),
  include_tool_tags: z.enum(["true", "false"]).default("false"),
  ticket: z.string().max(MAX_TICKET_LENGTH).exactOptional(),
});

export const eventRoutes = defineRoute({
  method: "GET",
  path: "/sessions/{session}/events",
  summary: "Streams the events of a session, from now or after a cursor.",
  scope: "read",
  acceptsTicket: true,
  opensStream: true,
  query,
  handle: async ({ context, caller, ref, query: { dialect, last_event_id, include_tool_tags }, headers }) => {
    const options = {
      // A reconnecting client sends the header together with its original URL, so the header is newer.
      after: headers.get("last-event-id") || last_event_id || null,
      // A `responses` client reads one answer up to its [DONE]. Other clients stay connected for further turns.
      untilIdle: dialect === "responses",
    };
    const format = {
      dialect,
      wire: "sse",
      includeToolTags: include_tool_tags === "true",
      includeHidden: hasScope(caller, "debug"),
    } as const;
    return { status: 200, stream: sessionStream(context, ref, format, async () => options) };
  },
});
