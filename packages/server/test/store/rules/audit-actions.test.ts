/** Tests the list of audit actions: complete, documented, and no action that ends something waits for the audit. */
import { readFileSync } from "node:fs";
import { readCode, readSection, readTables } from "@turnstream/conformance/support/markdown.ts";
import { TRANSITIONS } from "@turnstream/protocol/writer";
import { expect, test } from "vitest";
import { USER_DECIDED } from "../../../src/store/rules/interactions.ts";
import { AUDIT_ACTIONS, needsAudit } from "../../../src/store/rules/audit-actions.ts";

test("every status that an interaction can reach is an action", () => {
  const reached = USER_DECIDED.flatMap((kind) =>
    Object.values(TRANSITIONS[kind]).flatMap((targets) => targets.map((to) => `${kind}.${to}`)),
  );
  expect(reached.length).toBeGreaterThan(10);
  expect(reached.filter((action) => !Object.hasOwn(AUDIT_ACTIONS, action))).toEqual([]);
});

test("nothing that ends or restricts something waits for the audit, and every grant does", () => {
  const ending =
    /[.](rejected|timed_out|cancelled|dismissed|declined|expired|revoked|erase|erase_all|erased|refused)$/;
  const granting =
    /[.](approved|edited|always|passed|answered|submitted|processing|created|issued|opened|forked)$/;
  for (const action of Object.keys(AUDIT_ACTIONS)) {
    if (ending.test(action)) expect(needsAudit({ action }), action).toBe(false);
    if (granting.test(action)) expect(needsAudit({ action }), action).toBe(true);
  }
  expect(needsAudit({ action: "reaction.added" })).toBe(true);
  expect(needsAudit({ action: "reaction.removed", isOptional: true })).toBe(false);
  expect(needsAudit({ action: "approval.approved", isOptional: true })).toBe(true);
});

test("docs/audit.md lists every action, and which fail without their entry", () => {
  const page = readFileSync(new URL("../../../../../docs/audit.md", import.meta.url), "utf8");
  const [rows = []] = readTables(readSection(page, "## Actions"), "Action");
  const listed = rows.map(([action = "", needs = ""]) => [
    readCode(action)[0],
    needs.trim() === "yes" ? "required" : "optional",
  ]);
  expect(listed).toEqual(Object.entries(AUDIT_ACTIONS));
});
