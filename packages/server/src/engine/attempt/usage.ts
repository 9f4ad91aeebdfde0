/**
 * `UsageTracker` sums the tokens and the cost of a turn by run and by model.
 *
 * Invariant: every attempt starts with what the journal has, and each journaled record counts once.
 */
import type { Json } from "@turnstream/protocol";
import { addUsage, NO_USAGE } from "../../util/usage.ts";
import { MAIN_RUN } from "../events/turn-writer.ts";
import { runPath, STEP_PREFIX, SUMMARY, USAGE_PREFIX, type UsageRecord } from "./journal-keys.ts";

/** Returns the usage in a journal entry and the path of its run, or null if entries with this key have none. */
export function findUsage(
  key: string,
  value: Json,
): { readonly path: string; readonly record: UsageRecord } | null {
  const isOfRun = key.startsWith(STEP_PREFIX) || key.startsWith(USAGE_PREFIX);
  if (!isOfRun && key !== SUMMARY) return null;
  return { path: isOfRun ? runPath(key) : MAIN_RUN, record: value as unknown as UsageRecord };
}

export type Spent = Pick<UsageRecord, "usage" | "cost">;

export const NOTHING_SPENT: Spent = { usage: NO_USAGE, cost: 0 };

export function addSpent(one: Spent, other: Spent): Spent {
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
