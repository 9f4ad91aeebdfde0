/** `helpDesk` defines an agent with built-in tools. Printed in docs/built-in-tools.md. */
import { builtInTools, defineAgent, type Model, type WebSearch } from "@turnstream/server";

export function helpDesk(model: Model, search: WebSearch, crmKey: string) {
  return defineAgent({
    name: "help-desk",
    model,
    instructions: "You help customers of Acme. Cite what you found.",
    recallMemories: true,
    tools: builtInTools({
      memory: true,
      lookupHistory: true,
      knowledge: { bases: ["handbook"] },
      fetchWebContent: true,
      searchWeb: search,
      httpRequest: {
        description: "Looks up orders, and makes refunds.",
        allow: [
          {
            origin: "https://crm.acme.example",
            methods: ["GET", "POST"],
            paths: ["/v1/orders"],
            headers: { authorization: `Bearer ${crmKey}` },
            idempotencyHeader: "idempotency-key",
          },
        ],
      },
    }),
  });
}
