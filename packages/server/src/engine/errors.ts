/**
 * `EngineError` explains why a process may not work on a turn; `ENGINE_ERRORS` lists its codes.
 * Invariant: messages contain ids but no content, because they are logged. Codes are public: callers distinguish
 * errors by code and never by message.
 */
import { createErrorGuard, defineErrors } from "../util/errors.ts";

/** For each code: what is wrong and what the caller can do. */
const ENGINE_ERRORS = {
  LEFT: "This process hands over or has lost its lease, so it takes no more work. Let another process do it.",
  UNKNOWN_AGENT:
    "No agent of this name is defined in this worker. Define it, or deploy the worker that has it.",
} as const;

export class EngineError extends defineErrors("EngineError", ENGINE_ERRORS) {}

export const isEngineError = createErrorGuard(EngineError);
