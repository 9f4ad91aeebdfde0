/** Your `streamText` call as an agent, and the options of its server. `npm run dev` reloads this file. */
import { defineStreamAgent, type TurnstreamOptions } from "@turnstream/server";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const weather = tool({
  description: "The weather in a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is sunny in ${city}.`,
});

const assistant = defineStreamAgent({
  name: "assistant",
  run: ({ prompt, signal }) =>
    streamText({
      model: "anthropic/claude-sonnet-4-6",
      messages: prompt, // the conversation so far, from the server's history
      abortSignal: signal, // aborted when the user stops the turn
      tools: { weather },
      stopWhen: stepCountIs(10),
    }),
});

const isDevelopment = process.env.NODE_ENV !== "production";

export default {
  agents: [assistant],
  // Gets the Request, and returns the id of its user or null. Read the session cookie of your app here.
  user: () => (isDevelopment ? "dev" : null),
  scriptedAnswers: isDevelopment, // answers without a model while no API key is set
} satisfies TurnstreamOptions;
