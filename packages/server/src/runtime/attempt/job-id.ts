/** The engine knows a turn by one id, from which everything else can be found. It says nothing but ids. */
import type { SessionRef } from "../../store/refs.ts";

export interface TurnRef extends SessionRef {
  readonly turn: string;
}

export function jobId({ tenant, session, turn }: TurnRef): string {
  return `${jobPrefix(session)}${encodeURIComponent(tenant)}/${turn}`;
}

/** What the ids of all jobs of a session begin with: a session's name is unique over tenants, and has no slash. */
export function jobPrefix(session: string): string {
  return `${session}/`;
}

export function parseJobId(id: string): TurnRef | null {
  const [session, tenant, ...turn] = id.split("/");
  if (tenant === undefined || session === undefined || turn.length === 0) return null;
  return { tenant: decodeURIComponent(tenant), session, turn: turn.join("/") };
}
