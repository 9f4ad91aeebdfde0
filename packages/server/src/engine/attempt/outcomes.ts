/**
 * `outcomeFor` maps the typed reasons why an attempt stops early to the outcome of the turn. They are thrown as errors
 * or passed as abort reasons.
 *
 * Invariant: `runTurn` alone decides what happens to the turn. `outcomeFor` returns null for `RestartAttempt` and
 * unknown errors, which don't end a turn by themselves, and for errors of a body, which `TurnBody.outcomeFor` maps. Texts for
 * users come from `RuntimeStrings`, never from an error's message.
 */
import type { Json, TextTemplate } from "@turnstream/protocol";
import type { TurnErrorCode } from "@turnstream/protocol/writer";
import { type ExceededLimit, toWireName } from "../../store/rules/limits.ts";
import type { TurnOutcome } from "../events/closing-events.ts";
import type { ReachedLimit, RuntimeStrings } from "../../strings/runtime-strings.ts";
import { defined } from "../../util/defined.ts";

/** The user stopped the turn. */
export class StopRequested extends Error {
  readonly by: string | null;

  constructor(by: string | null) {
    super("the user stopped the turn");
    this.name = "StopRequested";
    this.by = by;
  }
}

/** The events of this attempt can't stay. A new attempt continues from the journal in a new epoch. */
export class RestartAttempt extends Error {
  /** True if the body counts its failures itself and sets the delay, so that the next attempt starts at once. */
  readonly isPacedByBody: boolean;

  constructor(why: string, cause?: unknown, { isPacedByBody = false } = {}) {
    super(why, { cause });
    this.name = "RestartAttempt";
    this.isPacedByBody = isPacedByBody;
  }
}

export class LimitReached extends Error {
  readonly reached: ReachedLimit;
  /** True if it ends the whole turn; false if it only ends the run of a sub-agent. */
  readonly isOfTurn: boolean;

  constructor(reached: ReachedLimit, { isOfTurn = true } = {}) {
    super(`The limit of ${reached.value} (${reached.limit}) was reached.`);
    this.name = "LimitReached";
    this.reached = reached;
    this.isOfTurn = isOfTurn;
  }
}

/** The user, the API key or the tenant has used all tokens or cost of the day or month. It ends the whole turn. */
export class UsageLimitReached extends Error {
  readonly exceeded: ExceededLimit;

  constructor(exceeded: ExceededLimit) {
    super(`The limit ${exceeded.limit} of the ${exceeded.scope} was reached.`);
    this.name = "UsageLimitReached";
    this.exceeded = exceeded;
  }
}

/** Several processes have died while they ran the turn, so it is not run again. */
export class TurnCrashed extends Error {
  constructor(deaths: number) {
    super(`${deaths} processes have died while they ran the turn`);
    this.name = "TurnCrashed";
  }
}

/** The turn can't continue, and a notice shows the reason to the user. */
export class TurnFailed extends Error {
  readonly canRetry: boolean;

  constructor(what: string, { canRetry = false, cause }: { canRetry?: boolean; cause?: unknown } = {}) {
    super(what, { cause });
    this.name = "TurnFailed";
    this.canRetry = canRetry;
  }
}

/** Returns how the turn ends for this error, or null if the error doesn't end a turn. */
export function outcomeFor(error: unknown, strings: RuntimeStrings): TurnOutcome | null {
  if (error instanceof StopRequested) return { reason: "user_stopped", by: error.by };
  if (error instanceof LimitReached) {
    const { reached } = error;
    const params = { ...reached };
    const text = { text: strings.limit(reached), template: { code: "LIMIT_REACHED", params } };
    return errorOutcome("LIMIT_REACHED", text, { canRetry: false, details: params });
  }
  if (error instanceof UsageLimitReached) {
    const { limit, scope, retryAfterMs } = error.exceeded;
    const details = { limit: toWireName(limit), scope, retry_after_ms: Math.ceil(retryAfterMs) };
    const text = errorText(strings, "USAGE_LIMIT_REACHED");
    return errorOutcome("USAGE_LIMIT_REACHED", text, { canRetry: true, details });
  }
  if (error instanceof TurnCrashed) {
    const text = { text: strings.crashed, template: { code: "TURN_CRASHED" } };
    return errorOutcome("SERVER_ERROR", text, { canRetry: true });
  }
  if (!(error instanceof TurnFailed)) return null;
  const { canRetry } = error;
  return errorOutcome("SERVER_ERROR", errorText(strings, "SERVER_ERROR"), { canRetry });
}

/** A text of the catalogs, and the template that identifies it for clients with their own catalogs. */
export interface CatalogText {
  readonly text: string;
  readonly template: TextTemplate;
}

export function errorText({ errors }: RuntimeStrings, code: TurnErrorCode): CatalogText {
  const text = errors[code];
  return text === undefined
    ? { text: errors.SERVER_ERROR, template: { code: "SERVER_ERROR" } }
    : { text, template: { code } };
}

export function notRetryableText({ notRetryable: text }: RuntimeStrings): CatalogText {
  return { text, template: { code: "NOT_RETRYABLE" } };
}

export function errorOutcome(
  code: TurnErrorCode,
  { text, template }: CatalogText | { readonly text: string; readonly template?: undefined },
  { canRetry, details }: { canRetry: boolean; details?: Json },
): TurnOutcome {
  return { reason: "error", code, text, canRetry, ...defined({ details, template }) };
}
