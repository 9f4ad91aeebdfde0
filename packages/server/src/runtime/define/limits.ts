/**
 * How far a turn of an agent may go. Every limit has a default, so that no turn runs for ever or without bound; hitting
 * one ends the turn with LIMIT_REACHED, and words that name it. Values only.
 */
export interface Limits {
  /** Model calls per run. */
  readonly maxSteps: number;
  /** Tokens per turn, read and written, sub-agents included. */
  readonly maxTokens: number;
  /** How long a turn may take, from the moment its message was taken. */
  readonly timeoutMs: number;
  /** How long one tool call may take, unless the tool says otherwise. */
  readonly toolTimeoutMs: number;
  /** How much of a tool's result the model is given, in characters; what is longer is cut, and says so. */
  readonly maxResultChars: number;
  /** How deep sub-agents may call sub-agents; 0 for none. */
  readonly maxDepth: number;
  /** How many tool calls of one step may run side by side. */
  readonly maxParallelCalls: number;
  /** How much a turn may cost: each step at the `prices` of the agent that makes it, and nothing where it has none. */
  readonly maxCost: number;
}

export const DEFAULT_LIMITS: Limits = {
  maxSteps: 50,
  maxTokens: 2_000_000,
  timeoutMs: 60 * 60 * 1_000,
  toolTimeoutMs: 10 * 60 * 1_000,
  maxResultChars: 100_000,
  maxDepth: 5,
  maxParallelCalls: 50,
  maxCost: Infinity,
};

/** What a million tokens cost. */
export interface Pricing {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
}
