/** The turn of 000 when the model fails after the tool's result. Data only. */
import type { Story } from "../story.ts";
import { vnmStock } from "../vnm-stock/script.ts";

export const vnmError: Story = {
  ...vnmStock,
  name: "vnm-error",
  agent: {
    ...vnmStock.agent,
    name: "failing-agent",
    hasTitle: false,
    answers: [...vnmStock.agent.answers.slice(0, 1), [{ fail: 503 }]],
  },
  reloadAt: ["thinking.delta main", "tool_call.end toolu_01", "tool_result.start toolu_01"],
};
