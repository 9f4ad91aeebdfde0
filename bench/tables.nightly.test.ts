/** Runs the bench of tables in its short form. Whether rows are shared is the same on every machine; times are not. */
import { expect, test } from "vitest";
import { isOk } from "./measure.ts";
import { benchTables, SHORT } from "./tables/tables.ts";

test(
  "no operation makes a multixact, and no turn is missing in the usage",
  { timeout: 300_000 },
  async () => {
    const measurements = await benchTables(SHORT);
    const exact = measurements.filter(({ measure }) => /^multixacts|usage$|not dropped$/.test(measure));
    expect(exact).toHaveLength(7);
    expect(exact.filter((each) => !isOk(each))).toEqual([]);
  },
);
