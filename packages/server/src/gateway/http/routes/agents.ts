/**
 * `agentRoutes` serve `GET /agents`: the agents that a message can name.
 * Invariant: the list is the same for all tenants, because agents belong to the deployment. It contains no
 * instructions, tools or models.
 */
import { restReplies } from "@turnstream/protocol/schema";
import { defineRoute } from "../route.ts";

export const agentRoutes = defineRoute({
  method: "GET",
  path: "/agents",
  summary: "Lists the agents that workers have registered, by name.",
  scope: "read",
  responseSchema: restReplies.agents,
  handle: async ({ context }) => {
    const agents = await context.store.agents.list();
    return {
      status: 200,
      json: {
        agents: agents.map(({ name, label, description, inputs }) => ({
          agent_id: name,
          label,
          description,
          inputs,
        })),
      },
    };
  },
});
