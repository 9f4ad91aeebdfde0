/** An assistant that asks before it buys. */
import { defineAgent, tool } from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";
import { z } from "zod";

const buy = tool({
  input: z.object({ symbol: z.string(), count: z.int() }),
  approval: true, // waits for the user's decision: 5 minutes by default, also across restarts
  run: ({ symbol, count }) => `Bought ${count} ${symbol}.`,
});
const order = script.toolCall("buy", { symbol: "VNM", count: 100 });
const model = scriptedModel([[order], [script.text("Done.")]]);
export default defineAgent({ name: "market", model, tools: { buy } });
