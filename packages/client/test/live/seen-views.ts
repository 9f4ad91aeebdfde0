/** What tests of faults share: `seenBy` records every view of a session, and `expectWhole` compares it with the log. */
import { expect } from "vitest";
import type { SessionRef } from "../../../server/src/util/refs.ts";
import type { Session, SessionView } from "../../src/session/session.ts";
import type { ConnectionPhase } from "../../src/transport/status.ts";
import type { LiveGateway } from "./live-gateway.ts";

export const CHANNELS = ["websocket", "sse"] as const;

/** Records every view of the session, including those that exist only for a moment. */
export function seenBy(session: Session): { views: SessionView[]; phases: () => ConnectionPhase[] } {
  const views: SessionView[] = [];
  session.subscribe(() => views.push(session.getSnapshot()));
  const phases = (): ConnectionPhase[] =>
    views.map(({ connection }) => connection.phase).filter((phase, n, all) => phase !== all[n - 1]);
  return { views, phases };
}

export async function expectWhole(
  gateway: LiveGateway,
  ref: SessionRef,
  session: Session,
  views: readonly SessionView[] = [],
) {
  const { state } = session.getSnapshot();
  expect(state).toEqual(await gateway.stage.state(ref));
  for (const [n, view] of views.entries())
    expect(view.state.seq).toBeGreaterThanOrEqual(views[n - 1]?.state.seq ?? 0);
}
