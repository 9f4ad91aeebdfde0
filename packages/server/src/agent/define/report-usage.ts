/**
 * `UsageReport` is what code of a developer reports about model calls of its own. `parseUsageReport` checks it.
 *
 * Invariant: token counts are integers of at least 0, and a report is for at least one model call.
 */
export interface UsageReport {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** How many model calls these tokens are for. @default 1 */
  readonly calls?: number;
  /** The model, for the usage by model. Default: the name of the tool or agent. */
  readonly model?: string;
  /** In the currency of the agent's `pricing`. It counts towards `limits.maxCost`. @default 0 */
  readonly cost?: number;
}

export type ReportUsage = (usage: UsageReport) => void;

/** @throws TypeError if a number is not valid */
export function parseUsageReport(usage: UsageReport): Required<Omit<UsageReport, "model">> {
  const { inputTokens, outputTokens, calls = 1, cost = 0 } = usage;
  for (const [name, value, least] of [
    ["inputTokens", inputTokens, 0],
    ["outputTokens", outputTokens, 0],
    ["calls", calls, 1],
  ] as const)
    if (!Number.isSafeInteger(value) || value < least)
      throw new TypeError(
        `\`${name}\` of reportUsage must be an integer of at least ${least}, got ${String(value)}`,
      );
  if (!Number.isFinite(cost) || cost < 0)
    throw new TypeError(`\`cost\` of reportUsage must be a number of at least 0, got ${String(cost)}`);
  return { inputTokens, outputTokens, calls, cost };
}
