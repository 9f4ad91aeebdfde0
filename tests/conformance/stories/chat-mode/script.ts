/**
 * The turn of 000 in chat mode: the message asks for it. 000 has thinking only in agent mode, so clients see the call,
 * its result and the answer. Data only.
 */
import type { Story } from "../story.ts";
import { vnmStock } from "../vnm-stock/script.ts";

export const chatMode: Story = {
  ...vnmStock,
  name: "chat-mode",
  mode: "chat",
  agent: { ...vnmStock.agent, name: "chat-agent" },
};
