/**
 * Why an attempt at a turn stops before its end, as typed reasons: they travel as abort reasons and as errors from the
 * branch that met them to the one place that decides what becomes of the turn.
 */
import type { Json } from "@turnstream/protocol";
import type { TurnErrorCode } from "@turnstream/protocol/writer";
import { ModelError } from "../../models/errors.ts";
import type { TurnOutcome } from "../events/closing-events.ts";
import type { RuntimeStrings } from "../strings.ts";

/** A person wants it. */
export class StopRequested extends Error {
  readonly by: string | null;

  constructor(by: string | null) {
    super("a person stopped the turn");
    this.name = "StopRequested";
    this.by = by;
  }
}

/** What was told can't stand: go on from the journal in a new epoch. */
export class RestartAttempt extends Error {
  constructor(why: string, cause?: unknown) {
    super(why, { cause });
    this.name = "RestartAttempt";
  }
}

/** The same for a model that broke off: how often, and how long it is waited for, is the step's own matter. */
export class ModelStreamInterrupted extends RestartAttempt {
  constructor(cause: ModelError) {
    super("the model broke off in the middle of a step", cause);
    this.name = "ModelStreamInterrupted";
  }
}

export class LimitReached extends Error {
  readonly limit: string;
  /** Whether it ends the whole turn, or only the run of a sub-agent. */
  readonly isOfTurn: boolean;

  constructor(limit: string, { isOfTurn = true } = {}) {
    super(`It reached its limit of ${limit}.`);
    this.name = "LimitReached";
    this.limit = limit;
    this.isOfTurn = isOfTurn;
  }
}

/** The turn can't go on, and people are told why. */
export class TurnFailed extends Error {
  readonly code: TurnErrorCode;
  readonly canRetry: boolean;
  readonly details: Json;

  constructor(
    code: TurnErrorCode,
    what: string,
    options: { canRetry?: boolean; details?: Json; cause?: unknown } = {},
  ) {
    super(what, { cause: options.cause });
    this.name = "TurnFailed";
    this.code = code;
    this.canRetry = options.canRetry ?? false;
    this.details = options.details ?? null;
  }
}

/** How a turn ends for what stopped it; null when that is nothing that ends a turn. */
export function outcomeFor(error: unknown, strings: RuntimeStrings): TurnOutcome | null {
  if (error instanceof StopRequested) return { reason: "user_stopped", by: error.by };
  if (error instanceof LimitReached) {
    const { limit } = error;
    return errorOutcome("LIMIT_REACHED", strings.limit(limit), { canRetry: false, details: { limit } });
  }
  if (error instanceof ModelError) {
    const { code, isRetryable: canRetry, status } = error;
    const details = status === null ? {} : { status };
    // "Try again" would be the wrong words for a wrong key or an unknown model.
    const isNotRetryable = code === "LLM_ERROR" && !canRetry;
    const text = isNotRetryable
      ? strings.notRetryable
      : (strings.errors[code] ?? strings.errors.SERVER_ERROR);
    return errorOutcome(code, text, { canRetry, details });
  }
  if (error instanceof TurnFailed) {
    const { code, canRetry, details } = error;
    return errorOutcome(code, strings.errors[code] ?? strings.errors.SERVER_ERROR, { canRetry, details });
  }
  return null;
}

export function errorOutcome(
  code: TurnErrorCode,
  text: string,
  { canRetry, details = null }: { canRetry: boolean; details?: Json },
): TurnOutcome {
  return {
    reason: "error",
    code,
    text,
    canRetry,
    isTransient: canRetry,
    ...(details === null ? {} : { details }),
  };
}
