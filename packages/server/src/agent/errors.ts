/**
 * `RuntimeError` reports mistakes of developers by code.
 *
 * Invariant: each code has one meaning, and developers compare codes.
 */
import { defineErrors } from "../util/errors.ts";

const MEANINGS = {
  BAD_AGENT: "The agent can't be used as it is defined. Correct its definition.",
  NO_AGENTS: "Give the worker at least one agent, each with a name of its own.",
  NO_MODEL: "The agent has no model. Give it one.",
} as const;

export class RuntimeError extends defineErrors("RuntimeError", MEANINGS) {}

export function badAgent(problem: string): RuntimeError {
  return new RuntimeError("BAD_AGENT", problem);
}
