/** Measures that no formula takes long to draw. */
import { measureSlowness } from "@turnstream/testkit/util/cpu-slowness.ts";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { renderFormula } from "../../src/math/math-chunk.tsx";

const MAX_MS = 50;
const fill = (part: string, end = ""): string =>
  part.repeat(Math.floor((1_000 - end.length) / part.length)) + end;

test.each([
  fill("x"),
  fill("{"),
  `${"{".repeat(499)}x${"}".repeat(499)}`,
  fill("\\frac{"),
  fill("\\frac12"),
  fill("\\sqrt"),
  fill("x_"),
  fill("x^{y_"),
  fill("\\left("),
  `\\begin{matrix}${fill("&").slice(40)}\\end{matrix}`,
  `\\begin{matrix}${fill("\\\\").slice(40)}\\end{matrix}`,
  `\\def\\a{\\b\\b}\\def\\b{\\c\\c}\\def\\c{${"x".repeat(900)}}\\a`,
  fill("\\begin{matrix}"),
  fill("\\text{"),
  fill("\\color{red}"),
  fill("'"),
  fill("\\big("),
  fill("é漢"),
])("no formula of 1,000 characters takes long (%#)", (text) => {
  let least = Infinity;
  for (let tries = 0; tries < 4 && least > MAX_MS; tries++) {
    const started = process.threadCpuUsage();
    const drawn = renderFormula(text, true);
    renderToStaticMarkup(createElement("p", null, drawn ?? text));
    const { user, system } = process.threadCpuUsage(started);
    least = Math.min(least, (user + system) / 1_000 / (tries === 0 ? 1 : measureSlowness()));
  }
  expect(least).toBeLessThan(MAX_MS);
});
