/**
 * `RuntimeError` reports mistakes of developers by code; `FileErrorCode` lists why a file can't be read.
 *
 * Invariant: each code has one meaning, and developers compare codes. A new `FileErrorCode` needs a text for users in
 * `strings/` and one for the model in `prompt/turn-messages.ts`.
 */
import { defineErrors } from "../util/errors.ts";

const MEANINGS = {
  BAD_AGENT: "The agent can't be used as it is defined. Correct its definition.",
  UNKNOWN_AGENT:
    "No agent of this name is defined in this worker. Define it, or deploy the worker that has it.",
  NO_AGENTS: "Give the worker at least one agent, each with a name of its own.",
  NO_MODEL: "The agent has no model. Give it one.",
} as const;

export class RuntimeError extends defineErrors("RuntimeError", MEANINGS) {}

export function badAgent(problem: string): RuntimeError {
  return new RuntimeError("BAD_AGENT", problem);
}

/** Why a file could not be read. `RuntimeStrings.fileFailed` turns it into a message for the user. */
export type FileErrorCode =
  | "NOT_ALLOWED"
  | "NOT_FOUND"
  | "TOO_LARGE"
  | "TOO_MANY"
  | "TIMEOUT"
  | "UNREACHABLE"
  | "UNSUPPORTED"
  | "UNREADABLE";
