/** `median` of measured values: the upper one of the two in the middle; NaN if there is no value. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
