/** `toClientOptions` builds the request with which a raw client opens a session on one of the measured servers. */
import type { RawClientOptions } from "./raw-client.ts";
import type { MeasuredServerSettings } from "./processes/measured-server.ts";

/** The tenant of all sessions of the gateway bench. */
export const TENANT = "bench";

export interface ClientKind {
  readonly kind: MeasuredServerSettings["kind"];
  readonly wire: RawClientOptions["wire"];
  readonly dialect?: "blocks" | "native";
}

export interface ClientTarget {
  readonly port: number;
  /** The headers that authenticate a client. */
  readonly headers: Readonly<Record<string, string>>;
  readonly session: string;
  /** The last event that the client has received. */
  readonly after?: string;
}

export function toClientOptions(
  { kind, wire, dialect = "blocks" }: ClientKind,
  { port, headers, session, after }: ClientTarget,
): RawClientOptions {
  // A baseline server subscribes to the channel of the session's log, whose name contains the tenant.
  if (kind !== "gateway") return { port, wire, headers: {}, path: `/?session=${TENANT}/${session}` };
  if (wire === "socket") {
    const cursor = after === undefined ? {} : { last_event_id: after };
    const first = JSON.stringify({ type: "subscribe", session_id: session, ...cursor });
    return { port, wire, headers, path: `/api/v1/socket?dialect=${dialect}`, first };
  }
  const query = `dialect=${dialect}${after === undefined ? "" : `&last_event_id=${after}`}`;
  return { port, wire, headers, path: `/api/v1/sessions/${session}/events?${query}` };
}
