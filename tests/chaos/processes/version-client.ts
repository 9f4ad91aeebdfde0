/**
 * This program follows sessions with the client package, as a page does, and reports what it shows. It runs from this
 * repository and from a copy with a raised version.
 */
import { createClient, type Session } from "@turnstream/client";
import { formatCursor, type Snapshot, snapshot } from "@turnstream/protocol";
import { connectParent, readSettings } from "@turnstream/testkit/processes/parent-process.ts";
import { until } from "@turnstream/testkit/util/until.ts";

export interface ClientSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type ClientRequest =
  | { readonly follow: string }
  /** Reports the session when it is live and has reached this cursor. */
  | { readonly report: string; readonly cursor: string };

export type ClientMessage =
  | { readonly ready: true }
  | { readonly reported: string; readonly state: Snapshot; readonly phase: string };

const REPORT_MS = 60_000;
const { url, headers } = readSettings() as ClientSettings;
const parent = connectParent<ClientRequest, ClientMessage>();
const client = createClient({ url, auth: () => ({ headers }) });
const sessions = new Map<string, Session>();

async function report(id: string, cursor: string): Promise<void> {
  const session = sessions.get(id);
  if (session === undefined) return;
  const isThere = (): boolean => {
    const { state, connection } = session.getSnapshot();
    return formatCursor(state) === cursor && connection.phase === "live";
  };
  // A client that doesn't get there reports what it has.
  await until(`${id} at ${cursor}`, isThere, { timeoutMs: REPORT_MS }).catch(() => undefined);
  const { state, connection } = session.getSnapshot();
  parent.send({ reported: id, state: snapshot(state), phase: connection.phase });
}

parent.onMessage((request) => {
  if ("report" in request) return void report(request.report, request.cursor);
  const session = client.session(request.follow);
  sessions.set(request.follow, session);
  session.subscribe(() => {});
});
parent.send({ ready: true });
