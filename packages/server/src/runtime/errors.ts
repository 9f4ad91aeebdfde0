/** What the runtime refuses or gives up on, as one typed error. Never shown to people who chat. */
import { defineErrors } from "../util/errors.ts";

const MEANINGS = {
  BAD_AGENT: "The agent can't be used as it is defined. Correct its definition.",
  UNKNOWN_AGENT:
    "No agent of this name is defined in this worker. Define it, or deploy the worker that has it.",
  NO_AGENTS: "Give the worker at least one agent, each with a name of its own.",
  NO_MODEL: "The agent has no model. Give it one.",
} as const;

export type RuntimeErrorCode = keyof typeof MEANINGS;

export class RuntimeError extends defineErrors("RuntimeError", MEANINGS) {}
