/**
 * How far a turn of an agent may go. Every limit has a default, so that no turn runs for ever or without bound; hitting
 * one ends the turn with LIMIT_REACHED, and words that name it. Values only.
 */
export interface Limits {
  /** Model calls per run. */
  readonly steps: number;
  /** Tokens per turn, read and written, sub-agents included. */
  readonly tokens: number;
  /** How long a turn may take, from the moment its message was taken. */
  readonly wallMs: number;
  /** How long one tool call may take, unless the tool says otherwise. */
  readonly toolMs: number;
  /** How much of a tool's result the model is given, in characters; what is longer is cut, and says so. */
  readonly resultChars: number;
  /** How deep sub-agents may call sub-agents; 0 for none. */
  readonly depth: number;
  /** How many tool calls of one step may run side by side. */
  readonly width: number;
  /** How much a turn may cost: each step at the `prices` of the agent that makes it, and nothing where it has none. */
  readonly cost: number;
}

export const DEFAULT_LIMITS: Limits = {
  steps: 50,
  tokens: 2_000_000,
  wallMs: 60 * 60 * 1_000,
  toolMs: 10 * 60 * 1_000,
  resultChars: 100_000,
  depth: 5,
  width: 50,
  cost: Infinity,
};

/** What a million tokens cost. */
export interface Prices {
  readonly input: number;
  readonly output: number;
}
