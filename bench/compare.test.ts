/** Tests how a comparison of two commits is judged. */
import { expect, test } from "vitest";
import { judge } from "./compare.ts";

const figures = (cost: number, perSecond: number) =>
  new Map([
    ["cost", { value: cost, isMore: false }],
    ["throughput", { value: perSecond, isMore: true }],
  ]);
const NOISE = [0.98, 1.01, 0.99, 1.02, 1, 1.01, 0.99];

test("fails a figure whose whole interval is above the bound, also one where more is better", () => {
  const pairs = NOISE.map((noise) => [figures(10, 100), figures(11 * noise, 80 * noise)] as const);
  const [cost, throughput] = judge(pairs);
  expect(cost).toMatchObject({ measure: "cost", ratio: 1.1, ok: false });
  expect(throughput).toMatchObject({ measure: "throughput", ratio: 1.25, ok: false });
});

test("passes a figure whose interval reaches below the bound, and shows the noise", () => {
  const wide = [0.7, 1.5, 0.9, 1.4, 0.8, 1.3, 1.1];
  const [cost] = judge(wide.map((noise) => [figures(10, 100), figures(10.8 * noise, 100)] as const));
  expect(cost?.ok).toBe(true);
  expect(cost?.from).toBeLessThan(1);
});
