/** What a turn has used, by run and by model. Counts only; what was journaled counts again in every attempt. */
import type { Json, Usage } from "@turnstream/protocol";
import { addUsage, NO_USAGE } from "../models/usage.ts";
import { COMPACTED, MAIN, pathOfStep, STEP_PREFIX, type StepFact } from "./facts.ts";

export class Spending {
  readonly #byRun = new Map<string, Usage>();
  readonly #byModel = new Map<string, Usage>();

  /** With what an earlier attempt has journaled. */
  static from(journal: ReadonlyMap<string, Json>): Spending {
    const spending = new Spending();
    for (const [key, value] of journal) {
      const isStep = key.startsWith(STEP_PREFIX);
      if (!isStep && key !== COMPACTED) continue;
      const { model, usage } = value as unknown as Pick<StepFact, "model" | "usage">;
      spending.add(isStep ? pathOfStep(key) : MAIN, model, usage);
    }
    return spending;
  }

  /** @param path the call that started the run, or `main` */
  add(path: string, model: string, usage: Usage): void {
    this.#byRun.set(path, addUsage(this.of(path), usage));
    this.#byModel.set(model, addUsage(this.#byModel.get(model) ?? NO_USAGE, usage));
  }

  of(path: string): Usage {
    return this.#byRun.get(path) ?? NO_USAGE;
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
}
