/** What the runtime refuses or gives up on, as one typed error. Never shown to people who chat. */

const MEANINGS = {
  BAD_AGENT: "The agent can't be used as it is defined. Correct its definition.",
  UNKNOWN_AGENT:
    "No agent of this name is defined in this worker. Define it, or deploy the worker that has it.",
  NO_AGENTS: "Give the worker at least one agent, each with a name of its own.",
  NO_MODEL: "The agent has no model. Give it one.",
} as const;

export type RuntimeErrorCode = keyof typeof MEANINGS;

export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, what: string, cause?: unknown) {
    super(`${what}: ${MEANINGS[code]}`, cause === undefined ? {} : { cause });
    this.name = "RuntimeError";
    this.code = code;
  }
}
