/** What a chart shows, line by line, and the colours it is drawn in. Pure. */
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

/** @param word what a single line without a name is called */
export function chartSeries({ values, series }: ArtifactData["chart"], word: string): readonly Series[] {
  return series ?? [{ name: word, values: values ?? [] }];
}
