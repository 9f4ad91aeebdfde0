/** `helpDesk` defines an agent with built-in tools. Printed in docs/built-in-tools.md. */
import { knowledgeTools } from "@turnstream/knowledge";
import { builtInTools, defineAgent, type Model } from "@turnstream/server";
import { type WebSearch, webTools } from "@turnstream/tools";

export function helpDesk(model: Model, search: WebSearch, crmKey: string) {
  const own = builtInTools({ memory: true, lookupHistory: true });
  const handbook = knowledgeTools({ bases: ["handbook"] });
  const web = webTools({
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
  });
  return defineAgent({
    name: "help-desk",
    model,
    instructions: "You help customers of Acme. Cite what you found.",
    recallMemories: true,
    tools: { ...own, ...handbook, ...web },
  });
}
