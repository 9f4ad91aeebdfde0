/**
 * `outcomeOfModelError` maps an error of a model to the outcome of the turn.
 *
 * Invariant: texts for users come from `RuntimeStrings`. The only exception is the message of a model provider, if the
 * worker shows it to developers.
 */
import {
  type CatalogText,
  errorOutcome,
  errorText,
  notRetryableText,
} from "../../engine/attempt/outcomes.ts";
import type { TurnOutcome } from "../../engine/events/closing-events.ts";
import type { ModelError } from "../../models/errors.ts";
import type { RuntimeStrings } from "../../strings/runtime-strings.ts";
import { describeMessage } from "../../util/describe-error.ts";

/** @param showsProviderErrors adds the message of the model provider to the text for the user */
export function outcomeOfModelError(
  error: ModelError,
  strings: RuntimeStrings,
  showsProviderErrors: boolean,
): TurnOutcome {
  const { code, isRetryable: canRetry, status } = error;
  const details = status === null ? {} : { status };
  // For a wrong API key or an unknown model, "try again" would mislead the user.
  const isNotRetryable = code === "LLM_ERROR" && !canRetry;
  const text = isNotRetryable ? notRetryableText(strings) : errorText(strings, code);
  const shown = showsProviderErrors ? withProviderMessage(text, error) : text;
  return errorOutcome(code, shown, { canRetry, details });
}

/** Without a template, so that a client with its own catalogs shows the message too. */
function withProviderMessage(catalogText: CatalogText, { cause, status }: ModelError) {
  // Inside a stream, the error of a provider can be a text or a plain object.
  const { message: own = cause } = Object(cause) as { readonly message?: unknown };
  const message = typeof own === "string" ? describeMessage(own) : "";
  if (message === "") return catalogText;
  return { text: `${catalogText.text} (${status === null ? "" : `HTTP ${status}: `}${message})` };
}
