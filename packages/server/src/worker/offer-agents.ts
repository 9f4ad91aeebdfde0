/** `offerAgents` checks the agents of a worker and registers them in the store, so that messages can name them. */
import { loadNamedModel } from "../models/named-model.ts";
import type { RegisteredAgent } from "../store/agents.ts";
import type { Store } from "../store/store.ts";
import type { Agent } from "../agent/define/agent.ts";
import { badAgent, RuntimeError } from "../agent/errors.ts";

/**
 * @param featureTools the names of the tools of features
 * @throws RuntimeError BAD_AGENT or NO_AGENTS, or an error of the store
 */
export async function offerAgents(
  store: Store,
  agents: readonly Agent[],
  featureTools: readonly string[],
): Promise<void> {
  const byName = new Map(agents.map((agent) => [agent.name, agent]));
  if (agents.length === 0 || byName.size < agents.length)
    throw new RuntimeError(
      "NO_AGENTS",
      `a worker with the agents ${[...byName.keys()].join(", ") || "(none)"}`,
    );
  for (const agent of agents) {
    checkFeatureTools(agent, featureTools);
    await loadModels(agent);
  }
  await store.agents.register(agents.map(toRegistration));
}

/** A tool of a feature that the worker doesn't have would be missing in the middle of a conversation. */
function checkFeatureTools(agent: Agent, known: readonly string[]): void {
  const missing = agent.featureTools.find((name) => !known.includes(name));
  if (missing !== undefined)
    throw badAgent(
      `\`featureTools\` of the agent ${agent.name} must be tools of the worker's features (${known.join(", ") || "none"}), got ${JSON.stringify(missing)}`,
    );
  const taken = known.find((name) => name in agent.tools || name in agent.subAgents);
  if (taken !== undefined)
    throw badAgent(`the tool ${taken} of the agent ${agent.name} has the name of a feature's tool`);
  for (const sub of Object.values(agent.subAgents)) checkFeatureTools(sub, known);
}

/** Finds at startup that the name of a model can't be resolved. */
async function loadModels({ name, model, title, compaction, subAgents }: Agent): Promise<void> {
  try {
    for (const used of [model, title === false ? null : title.model, compaction.model])
      await loadNamedModel(used);
  } catch (error) {
    throw new RuntimeError("BAD_AGENT", `the agent ${name}: ${(error as Error).message}`, error);
  }
  for (const agent of Object.values(subAgents)) await loadModels(agent);
}

function toRegistration({ name, label, description, body, attachments, images }: Agent): RegisteredAgent {
  // The worker reads files for a stream agent only with `attachments`.
  const readsFiles = body === null || attachments;
  const files = images === null ? (["file"] as const) : (["file", "image"] as const);
  return { name, label, description, inputs: readsFiles ? ["text", ...files] : ["text"] };
}
