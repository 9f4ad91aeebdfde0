/**
 * `Agents` is the sub-port of registered agents: what a client can know about an agent before it sends a message.
 *
 * Invariant: agents belong to the deployment and not to a tenant, so a row contains nothing of a tenant or user. A
 * registered agent stays known while no worker runs, until it is removed. Rows are written by workers only.
 */
import { StoreError } from "../errors.ts";
import { checkId } from "../rules/arguments.ts";

/** What an agent accepts in a message: text, files whose text it reads, and images that its model sees. */
const AGENT_INPUTS = ["text", "file", "image"] as const;
export type AgentInput = (typeof AGENT_INPUTS)[number];

export interface RegisteredAgent {
  readonly name: string;
  /** What a run of the agent does, for users; "" if it has no label. */
  readonly label: string;
  /** What the agent is good for; "" if it has no description. */
  readonly description: string;
  readonly inputs: readonly AgentInput[];
}

export const MAX_AGENTS = 1_000;
const MAX_LABEL_CHARS = 500;
const MAX_DESCRIPTION_CHARS = 10_000;

/** The sub-port of registered agents. */
export interface Agents {
  /**
   * Registers agents by name. The last registration of a name applies.
   * @throws StoreError with INVALID for an invalid agent, with TOO_LARGE above MAX_AGENTS agents.
   */
  register(agents: readonly RegisteredAgent[]): Promise<void>;
  isKnown(name: string): Promise<boolean>;
  /** Returns all agents, ordered by name. */
  list(): Promise<RegisteredAgent[]>;
  /** Forgets an agent that no worker offers any more. Returns false if it is not registered. */
  remove(name: string): Promise<boolean>;
}

/** Cuts texts that are longer than their columns, because a long description must not prevent the start of a worker. */
export function checkAgent({ name, label, description, inputs }: RegisteredAgent): RegisteredAgent {
  const unknown = inputs.find((input) => !AGENT_INPUTS.includes(input));
  if (unknown !== undefined)
    throw new StoreError("INVALID", `inputs of an agent must be ${AGENT_INPUTS.join(", ")}`);
  return {
    name: checkId(name, "agent name"),
    label: storable(label, MAX_LABEL_CHARS),
    description: storable(description, MAX_DESCRIPTION_CHARS),
    inputs: AGENT_INPUTS.filter((input) => inputs.includes(input)),
  };
}

/** PostgreSQL's text can contain neither NUL nor lone surrogates. */
function storable(text: string, maxChars: number): string {
  return Buffer.from(text.slice(0, maxChars).replaceAll("\0", "\ufffd")).toString();
}

export function tooManyAgents(): StoreError {
  return new StoreError("TOO_LARGE", `at most ${MAX_AGENTS} agents can be registered; remove some first`);
}
