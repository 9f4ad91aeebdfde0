/**
 * `allowanceRoutes` list and revoke the standing approvals of a session. Deciding an approval creates them.
 * Invariant: both act only on the session in the path. Revoking needs the scope `decide`, like the approval itself,
 * and is recorded with the caller's user and address.
 */
import { restReplies } from "@turnstream/protocol/schema";
import { listAllowances, revokeAllowance } from "../../../session/interactions/allowances.ts";
import { clientField } from "../../caller.ts";
import { RequestError } from "../../errors.ts";
import { type Route, defineRoute } from "../route.ts";

const list = defineRoute({
  method: "GET",
  path: "/sessions/{session}/allowances",
  summary: "Lists the tools that the user allowed for the rest of the session, by agent.",
  scope: "read",
  responseSchema: restReplies.allowances,
  handle: async ({ context, ref }) => ({
    status: 200,
    json: { allowances: await listAllowances(context, ref) },
  }),
});

const revoke = defineRoute({
  method: "DELETE",
  path: "/sessions/{session}/allowances/{agent}/{tool}",
  summary: "Revokes an allowance. The next call needs an approval again.",
  scope: "decide",
  async handle({ context, caller, ref, params }) {
    const { agent = "", tool = "" } = params;
    const input = { agent, tool, userId: caller.user, ...clientField(caller) };
    if (!(await revokeAllowance(context, ref, input)))
      throw new RequestError("NOT_FOUND", "This tool is not approved for the rest of the session.");
    return { status: 204 };
  },
});

export const allowanceRoutes: readonly Route[] = [list, revoke];
