/**
 * `toUsageRecord` computes the cost of a model call, and `UsageCollector` collects what a tool or a hook reports.
 *
 * Invariant: a cost is computed when the model is called, so a price change doesn't change earlier records.
 */
import type { Usage } from "@turnstream/protocol";
import type { UsageRecord } from "../../engine/attempt/journal-keys.ts";
import { addSpent, NOTHING_SPENT } from "../../engine/attempt/usage.ts";
import type { Agent } from "../define/agent.ts";
import { parseUsageReport, type ReportUsage } from "../define/report-usage.ts";

const MILLION = 1_000_000;

/** @param agent the agent that calls the model; its prices apply */
export function toUsageRecord({ pricing }: Pick<Agent, "pricing">, model: string, usage: Usage): UsageRecord {
  const { input_tokens, output_tokens } = usage;
  const cost =
    pricing === null
      ? 0
      : (input_tokens * pricing.inputPerMillion + output_tokens * pricing.outputPerMillion) / MILLION;
  return { usage, model, cost };
}

/** The part of an attempt that journals usage. */
interface UsageJournal {
  recordUsage(path: string, what: string, spent: UsageRecord): Promise<void>;
}

export class UsageCollector {
  readonly #records = new Map<string, UsageRecord>();
  readonly #name: string;
  #isClosed = false;

  /** @param name the tool or agent: the model of reports that name none */
  constructor(name: string) {
    this.#name = name;
  }

  /** Usage that is reported after `record` is ignored. */
  readonly report: ReportUsage = (given) => {
    const { inputTokens, outputTokens, calls, cost } = parseUsageReport(given);
    if (this.#isClosed) return;
    const model = given.model ?? this.#name;
    const usage: Usage = {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      calls,
    };
    const spent = addSpent(this.#records.get(model) ?? NOTHING_SPENT, { usage, cost });
    this.#records.set(model, { model, ...spent });
  };

  /** Journals the reported usage. Returns its sum, or null if nothing was reported. */
  async record(attempt: UsageJournal, path: string, what: string): Promise<Usage | null> {
    this.#isClosed = true;
    const records = [...this.#records.values()];
    for (const [n, record] of records.entries()) await attempt.recordUsage(path, `${what}/${n}`, record);
    return records.length === 0 ? null : records.reduce(addSpent, NOTHING_SPENT).usage;
  }
}
