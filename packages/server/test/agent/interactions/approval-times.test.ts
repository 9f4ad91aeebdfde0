/** Tests the timeout that a developer sets for an approval. */
import { expect, it } from "vitest";
import { resolveApproval } from "../../../src/agent/define/approval.ts";
import { tool } from "../../../src/agent/define/tool.ts";

const forEver = () => ({ timeoutMs: Infinity });
const bad = [Infinity, NaN, -1_000, 1.5, 1_500, 1e12];

it.each(bad)("a tool refuses an approval timeout of %d ms when it is defined", (timeoutMs) => {
  expect(() => tool({ approval: { timeoutMs }, run: () => "" })).toThrow(
    `\`timeoutMs\` of \`approval\` of a tool must be a whole number of seconds in milliseconds, from 0 to 316224000000 (ten years), got ${timeoutMs}`,
  );
});

it("an invalid timeout from a policy is a failure of the policy", async () => {
  const context = { tenant: "t", session: "s", turn: "t1", call: "c1", messages: [], user: "an" };
  await expect(resolveApproval(forEver, {}, context)).rejects.toThrow("got Infinity");
  const given = await resolveApproval({ timeoutMs: 0 }, {}, context);
  expect(given?.timeoutSeconds).toBe(0);
});

it("an approval times out after 300 s by default, and never with null", async () => {
  const context = { tenant: "t", session: "s", turn: "t1", call: "c1", messages: [], user: "an" };
  for (const approval of [true, {}, { editable: true }, () => true])
    expect((await resolveApproval(approval, {}, context))?.timeoutSeconds).toBe(300);
  for (const approval of [{ timeoutMs: null }, () => ({ timeoutMs: null })])
    expect((await resolveApproval(approval, {}, context))?.timeoutSeconds).toBeNull();
  expect(() => tool({ approval: { timeoutMs: null }, run: () => "" })).not.toThrow();
});
