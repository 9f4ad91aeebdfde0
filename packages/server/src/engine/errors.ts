/**
 * `EngineError` is the only error that an engine throws; `ENGINE_ERRORS` lists its codes.
 * Invariant: messages contain ids but no content, because they are logged. Codes are public: callers distinguish
 * errors by code and never by message.
 */
import { createErrorGuard, defineErrors } from "../util/errors.ts";

/** For each code: what is wrong and what the caller can do. */
export const ENGINE_ERRORS = {
  LEFT: "This process hands over or has lost its lease, so it takes no more work. Let another process do it.",
  TAKEN: "This process has an engine on DBOS already, and DBOS knows only one. Close the first, or use it.",
  NOT_MIGRATED:
    "The tables of the engine are missing or too old. Run `turnstream migrate`, or `migrateEngine(databaseUrl)`, before starting workers.",
  FAILED: "The handler of this job threw. The error was passed to `onError`.",
  UNAVAILABLE:
    "The database can't be reached or rejects queries. Try again; check its log if the error persists.",
} as const;

export type EngineErrorCode = keyof typeof ENGINE_ERRORS;

export class EngineError extends defineErrors("EngineError", ENGINE_ERRORS) {}

export const isEngineError = createErrorGuard(EngineError);
