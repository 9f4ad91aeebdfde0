/**
 * `chartSeries` returns the series of a chart, and `ChartColors` declares its colors. Pure.
 * Invariant: the chart and its table use the same series, so they show the same data. It loads no chart library.
 */
import type { ArtifactData } from "@turnstream/protocol";

export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

export interface ChartColors {
  readonly series: readonly string[];
  readonly text: string;
  readonly line: string;
  readonly font: string;
}

/** @param word the name of a single series without a name */
export function chartSeries({ values, series }: ArtifactData["chart"], word: string): readonly Series[] {
  return series ?? [{ name: word, values: values ?? [] }];
}
