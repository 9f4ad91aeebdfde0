/**
 * `UsageTracker` sums the tokens and the cost of a turn by run and by model. `toUsageRecord` computes the cost of a
 * call. `UsageCollector` collects what a tool or a hook reports.
 *
 * Invariant: every attempt starts with what the journal has, and each journaled record counts once. A cost is computed
 * when the model is called, so a price change doesn't change earlier records.
 */
import type { Json, Usage } from "@turnstream/protocol";
import { addUsage, NO_USAGE } from "../../models/usage.ts";
import type { Agent } from "../define/agent.ts";
import { parseUsageReport, type ReportUsage } from "../define/report-usage.ts";
import { COMPACTION_KEY, runPath, type UsageRecord, USAGE_PREFIX, STEP_PREFIX } from "./journal-entries.ts";
import { MAIN_RUN } from "../events/turn-writer.ts";

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

/** Returns the usage in a journal entry and the path of its run, or null if entries with this key have none. */
export function findUsage(
  key: string,
  value: Json,
): { readonly path: string; readonly record: UsageRecord } | null {
  const isOfRun = key.startsWith(STEP_PREFIX) || key.startsWith(USAGE_PREFIX);
  if (!isOfRun && key !== COMPACTION_KEY) return null;
  return { path: isOfRun ? runPath(key) : MAIN_RUN, record: value as unknown as UsageRecord };
}

export class UsageTracker {
  readonly #byRun = new Map<string, Usage>();
  readonly #byModel = new Map<string, Usage>();
  readonly #costs = new Map<string, number>();
  readonly #costsByModel = new Map<string, number>();

  /** Returns a tracker with the usage that earlier attempts journaled. */
  static from(journal: ReadonlyMap<string, Json>): UsageTracker {
    const spending = new UsageTracker();
    for (const [key, value] of journal) {
      const found = findUsage(key, value);
      if (found !== null) spending.add(found.path, found.record);
    }
    return spending;
  }

  /** @param path the call that started the run, or `main` */
  add(path: string, { model, usage, cost }: UsageRecord): void {
    this.#byRun.set(path, addUsage(this.of(path), usage));
    this.#byModel.set(model, addUsage(this.#byModel.get(model) ?? NO_USAGE, usage));
    this.#costs.set(path, this.costOf(path) + cost);
    this.#costsByModel.set(model, this.costOfModel(model) + cost);
  }

  of(path: string): Usage {
    return this.#byRun.get(path) ?? NO_USAGE;
  }

  costOf(path: string): number {
    return this.#costs.get(path) ?? 0;
  }

  costOfModel(model: string): number {
    return this.#costsByModel.get(model) ?? 0;
  }

  get byRun(): ReadonlyMap<string, Usage> {
    return this.#byRun;
  }

  get byModel(): ReadonlyMap<string, Usage> {
    return this.#byModel;
  }

  get total(): Usage {
    return [...this.#byRun.values()].reduce(addUsage, NO_USAGE);
  }

  get cost(): number {
    return [...this.#costs.values()].reduce((sum, cost) => sum + cost, 0);
  }
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
    const known = this.#records.get(model);
    const usage: Usage = {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      calls,
    };
    this.#records.set(model, {
      model,
      usage: addUsage(known?.usage ?? NO_USAGE, usage),
      cost: (known?.cost ?? 0) + cost,
    });
  };

  /** Journals the reported usage. Returns its sum, or null if nothing was reported. */
  async record(attempt: UsageJournal, path: string, what: string): Promise<Usage | null> {
    this.#isClosed = true;
    const records = [...this.#records.values()];
    for (const [n, record] of records.entries()) await attempt.recordUsage(path, `${what}/${n}`, record);
    return records.length === 0 ? null : records.map(({ usage }) => usage).reduce(addUsage, NO_USAGE);
  }
}
