/** Tests `createStaticSession`, a session from recorded events. */
import { emptyState } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { createStaticSession } from "../src/static-session.ts";

test("setView changes the view and notifies subscribers", () => {
  const session = createStaticSession([]);
  let notified = 0;
  const leave = session.subscribe(() => notified++);
  expect(session.getSnapshot().state).toBe(emptyState);
  session.setView({ skewMs: 5 });
  expect([notified, session.getSnapshot().skewMs]).toEqual([1, 5]);
  leave();
  session.setView({ skewMs: 6 });
  expect(notified).toBe(1);
});
