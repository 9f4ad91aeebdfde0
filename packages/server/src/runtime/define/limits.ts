/**
 * `Limits` bounds one turn of an agent, and `DEFAULT_LIMITS` has a value for each. Types and constants only.
 *
 * Invariant: reaching `maxSteps`, `maxTokens`, `timeoutMs` or `maxCost` ends the turn with LIMIT_REACHED and a text
 * that names the limit. The limits of a sub-agent only end its own run, and its `timeoutMs` and `maxDepth` have no
 * effect. The names must equal those that `define/agent.ts` accepts.
 */
export interface Limits {
  /** Model calls per run. @default 50 */
  readonly maxSteps: number;
  /** Input and output tokens per turn, including sub-agents. @default 2000000 */
  readonly maxTokens: number;
  /** How long a turn may take from its start. Time spent waiting for users doesn't count. @default 3600000 */
  readonly timeoutMs: number;
  /** How long one tool call may take, unless the tool has its own `timeoutMs`. @default 600000 */
  readonly toolTimeoutMs: number;
  /** Characters of a tool result that the model gets. Longer results are truncated with a note. @default 100000 */
  readonly maxResultChars: number;
  /** How deep sub-agents may be nested; 0 allows none. @default 5 */
  readonly maxDepth: number;
  /** Tool calls of one step that run at the same time; further calls wait. @default 50 */
  readonly maxParallelCalls: number;
  /**
   * Cost of a turn. Each step counts at the `pricing` of its agent, and as 0 if the agent has none.
   * @default Infinity
   */
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

/** Cost of a million tokens. */
export interface Pricing {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
}
