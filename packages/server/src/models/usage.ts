/**
 * `usageOf`, `addUsage` and `subtractUsage` convert, add and subtract token counts in the format of the protocol. Pure. Does not compute prices.
 * Invariant: all counts are whole numbers of at least 0, because the protocol accepts no others. Every call counts as
 * one call, even if the provider reported no tokens.
 */
import type { Usage } from "@turnstream/protocol";

import type { ModelUsage } from "./model.ts";

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0, calls: 0 };

/** Returns the usage of one call. Counts that the provider did not report are 0. */
export function usageOf(usage: ModelUsage | null): Usage {
  const input_tokens = countOf(usage?.inputTokens.total);
  const output_tokens = countOf(usage?.outputTokens.total);
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens, calls: 1 };
}

export function addUsage(one: Usage, other: Usage): Usage {
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
    calls: one.calls + other.calls,
  };
}

export function subtractUsage(whole: Usage, part: Usage): Usage {
  return {
    input_tokens: whole.input_tokens - part.input_tokens,
    output_tokens: whole.output_tokens - part.output_tokens,
    total_tokens: whole.total_tokens - part.total_tokens,
    calls: whole.calls - part.calls,
  };
}

/** The protocol accepts only whole numbers, but providers can send others. */
function countOf(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? Math.round(tokens) : 0;
}
