/**
 * `UsageTracker` sums the tokens and the cost of a turn by run and by model. `toUsageRecord` computes the cost of a
 * call. `UsageCollector` collects what a tool or a hook reports.
 *
 * Invariant: every attempt starts with what the journal has, and each journaled record counts once. A cost is computed
 * when the model is called, so a price change doesn't change earlier records.
 */
import type { Json, Usage } from "@turnstream/protocol";
import { addUsage, NO_USAGE } from "../../models/usage.ts";
import type { Agent } from "../../agent/define/agent.ts";
import { parseUsageReport, type ReportUsage } from "../../agent/define/report-usage.ts";
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

export type Spent = Pick<UsageRecord, "usage" | "cost">;

export const NOTHING_SPENT: Spent = { usage: NO_USAGE, cost: 0 };

function addSpent(one: Spent, other: Spent): Spent {
  return { usage: addUsage(one.usage, other.usage), cost: one.cost + other.cost };
}

export class UsageTracker {
  readonly #byRun = new Map<string, Spent>();
  readonly #byModel = new Map<string, Spent>();

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
  add(path: string, record: UsageRecord): void {
    const { model } = record;
    this.#byRun.set(path, addSpent(this.of(path), record));
    this.#byModel.set(model, addSpent(this.#byModel.get(model) ?? NOTHING_SPENT, record));
  }

  of(path: string): Spent {
    return this.#byRun.get(path) ?? NOTHING_SPENT;
  }

  get byRun(): ReadonlyMap<string, Spent> {
    return this.#byRun;
  }

  get byModel(): ReadonlyMap<string, Spent> {
    return this.#byModel;
  }

  get total(): Spent {
    return [...this.#byRun.values()].reduce(addSpent, NOTHING_SPENT);
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
