/** How long an approval may be waited for, as a developer says it. */
import { expect, it } from "vitest";
import { resolveApproval } from "../../../src/runtime/define/approval.ts";
import { tool } from "../../../src/runtime/define/tool.ts";

const forEver = () => ({ timeoutSeconds: Infinity });
const bad = [Infinity, NaN, -1, 1.5, 1e12];

it.each(bad)(
  "an approval that would be waited for %d s is refused where the tool is defined",
  (timeoutSeconds) => {
    expect(() => tool({ approval: { timeoutSeconds }, run: () => "" })).toThrow(
      `approval.timeoutSeconds is ${timeoutSeconds}: it has to be a whole number of seconds`,
    );
  },
);

it("and where a policy says so, it is the policy's failure", async () => {
  const context = { tenant: "t", session: "s", turn: "t1", call: "c1", user: "an" };
  await expect(resolveApproval(forEver, {}, context)).rejects.toThrow("approval.timeoutSeconds is Infinity");
  const given = await resolveApproval({ timeoutSeconds: 0 }, {}, context);
  expect(given?.timeoutSeconds).toBe(0);
});
