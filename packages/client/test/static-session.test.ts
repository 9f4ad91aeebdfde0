/** A session from recorded events. */
import { emptyState } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { createStaticSession } from "../src/static-session.ts";

test("stands where it is put, and tells", () => {
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
