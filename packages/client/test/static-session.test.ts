/** A session from recorded events. */
import { emptyState } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { recordedSession } from "../src/static-session.ts";

test("stands where it is put, and tells", () => {
  const session = recordedSession([]);
  let told = 0;
  const leave = session.subscribe(() => told++);
  expect(session.getSnapshot().state).toBe(emptyState);
  session.show({ skewMs: 5 });
  expect([told, session.getSnapshot().skewMs]).toEqual([1, 5]);
  leave();
  session.show({ skewMs: 6 });
  expect(told).toBe(1);
});
