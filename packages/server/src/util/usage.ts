/** `addUsage` and `subtractUsage` add and subtract token counts in the format of the protocol. Pure. */
import type { Usage } from "@turnstream/protocol";

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0, calls: 0 };

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
