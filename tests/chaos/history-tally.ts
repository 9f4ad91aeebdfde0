/**
 * `HistoryTally` checks the history of every round, and sums up the results as figures. It also plants faults into a
 * copy of every history, all of them in turn, so that a run shows that its checks would have found them.
 */
import {
  checkHistory,
  type FindingKind,
  type HistoryReport,
  type Operation,
} from "@turnstream/testkit/history/check-history.ts";
import { PLANTED_FAULTS } from "@turnstream/testkit/history/planted-faults.ts";
import type { Figure, RunOptions } from "./scenario.ts";

const FINDINGS: Readonly<Record<FindingKind, string>> = {
  lost: "acknowledged entries lost without a reason",
  doubled: "appends in the log twice",
  torn: "appends that are incomplete or interrupted",
  replaced: "positions with two meanings, or entries with another content",
  reordered: "positions or appends out of order",
  gap: "gaps in the sequence",
  stale: "readers with lost entries that were not told",
  behind: "readers that lack the end of the log",
  epoch: "entries in another epoch than their writer's, or before a claim",
  unwritten: "entries that were refused or never sent",
};

/** How many findings of a round are printed. */
const MAX_PRINTED = 5;
/** A check of a planted fault takes as long as the check of the round. The ten rounds of a short run plant each fault. */
const FAULTS_PER_ROUND = 3;
const FAULTS = Object.entries(PLANTED_FAULTS);

type Count = Exclude<keyof HistoryReport, "findings">;

export class HistoryTally {
  readonly #options: RunOptions;
  readonly #findings = new Map<FindingKind, number>();
  readonly #sums = new Map<Count, number>();
  #rounds = 0;
  #planted = 0;
  #overlooked = 0;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  add(history: readonly Operation[]): void {
    const { times, progress, record } = this.#options;
    const { findings, ...counts } = checkHistory(history);
    for (const { session, kind, text } of findings.slice(0, MAX_PRINTED))
      progress(`${session}: ${kind}: ${text}`);
    for (const { kind } of findings) this.#findings.set(kind, (this.#findings.get(kind) ?? 0) + 1);
    for (const [name, count] of Object.entries(counts) as [Count, number][])
      this.#sums.set(name, this.sum(name) + count);
    this.#plantFaults(history);
    record?.(history);
    this.#rounds++;
    if (this.#rounds % 10 === 0)
      progress(
        `${this.#rounds} of ${times}: ${JSON.stringify(Object.fromEntries([...this.#sums, ...this.#findings]))}`,
      );
  }

  sum(name: Count): number {
    return this.#sums.get(name) ?? 0;
  }

  figures(): Figure[] {
    return [
      ...(Object.entries(FINDINGS) as [FindingKind, string][]).map(([kind, figure]) => ({
        figure,
        value: this.#findings.get(kind) ?? 0,
        exactly: 0,
      })),
      { figure: "planted faults that were not found", value: this.#overlooked, exactly: 0 },
      { figure: "planted faults", value: this.#planted, atLeast: this.#options.times },
    ];
  }

  #plantFaults(history: readonly Operation[]): void {
    const first = (this.#rounds * FAULTS_PER_ROUND) % FAULTS.length;
    for (const [name, { kind, plant }] of [...FAULTS, ...FAULTS].slice(first, first + FAULTS_PER_ROUND)) {
      const planted = plant(history, this.#options.random);
      if (planted === null) continue;
      this.#planted++;
      if (checkHistory(planted).findings.some((finding) => finding.kind === kind)) continue;
      this.#overlooked++;
      this.#options.progress(`not found: ${name}`);
    }
  }
}
