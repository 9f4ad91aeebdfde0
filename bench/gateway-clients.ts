/** Who looks, and at what: the subjects' names for their ways in, and how a raw client asks for a session there. */
import type { RawWish } from "./raw-client.ts";
import type { SubjectSettings } from "./processes/measured-server.ts";

export interface Way {
  readonly kind: SubjectSettings["kind"];
  readonly wire: RawWish["wire"];
  readonly dialect?: "blocks" | "native";
}

export interface Sight {
  readonly port: number;
  /** What lets a client in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly session: string;
  /** The last event that the client has seen. */
  readonly after?: string;
}

export function wishOf(
  { kind, wire, dialect = "blocks" }: Way,
  { port, headers, session, after }: Sight,
): RawWish {
  if (kind !== "gateway") return { port, wire, headers: {}, path: `/?session=${session}` };
  if (wire === "socket") {
    const cursor = after === undefined ? {} : { last_event_id: after };
    const first = JSON.stringify({ type: "subscribe", session_id: session, ...cursor });
    return { port, wire, headers, path: `/api/v1/socket?dialect=${dialect}`, first };
  }
  const query = `dialect=${dialect}${after === undefined ? "" : `&after=${after}`}`;
  return { port, wire, headers, path: `/api/v1/sessions/${session}/events?${query}` };
}

export const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
