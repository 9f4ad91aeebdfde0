/**
 * `usageOf` converts the token counts of a provider to the format of the protocol. Pure. Does not compute prices.
 * Invariant: all counts are whole numbers of at least 0, because the protocol accepts no others. Every call counts as
 * one call, even if the provider reported no tokens.
 */
import type { Usage } from "@turnstream/protocol";

import type { ModelUsage } from "./model.ts";

/** Returns the usage of one call. Counts that the provider did not report are 0. */
export function usageOf(usage: ModelUsage | null): Usage {
  const input_tokens = countOf(usage?.inputTokens.total);
  const output_tokens = countOf(usage?.outputTokens.total);
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens, calls: 1 };
}

/** The protocol accepts only whole numbers, but providers can send others. */
function countOf(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? Math.round(tokens) : 0;
}
