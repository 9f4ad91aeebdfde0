/** `median` returns the median of measured values: the upper one of the two in the middle, or NaN for no values. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
