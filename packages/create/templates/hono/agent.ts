/** The agent and the options of its server. `npm run dev` reloads this file and what it imports. */
import { defineAgent, tool, type TurnstreamOptions } from "@turnstream/server";
import { z } from "zod";

const bookTable = tool({
  description: "Books a table in a restaurant",
  inputSchema: z.object({ restaurant: z.string(), guests: z.int() }),
  approval: true, // waits until the user approves it, also across restarts
  execute: ({ restaurant, guests }) => `Booked a table for ${guests} at ${restaurant}.`,
});

const assistant = defineAgent({
  name: "assistant",
  model: "anthropic/claude-sonnet-4-6",
  instructions: "You help to plan an evening. Answer briefly.",
  tools: { bookTable },
});

const isDevelopment = process.env.NODE_ENV !== "production";

export default {
  agents: [assistant],
  // Gets the Request, and returns the id of its user or null. Read the session cookie of your app here.
  user: () => (isDevelopment ? "dev" : null),
  scriptedAnswers: isDevelopment, // answers without a model while no API key is set
} satisfies TurnstreamOptions;
