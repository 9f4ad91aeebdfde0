/** Tests `SingleFlight`: concurrent calls with the same key share one execution, and later calls start a new one. */
import { expect, test } from "vitest";
import { SingleFlight } from "../../src/util/single-flight.ts";

test("concurrent calls share one result or one error, and later calls run again", async () => {
  const once = new SingleFlight<number>();
  let asked = 0;
  const question = async (): Promise<number> => {
    asked++;
    await Promise.resolve();
    if (asked === 2) throw new Error("not now");
    return asked;
  };
  expect(await Promise.all([once.run("a", question), once.run("a", question)])).toEqual([1, 1]);
  const failed = await Promise.allSettled([once.run("a", question), once.run("a", question)]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await once.run("a", question)).toBe(3);
  expect(await Promise.all([once.run("a", question), once.run("b", question)])).toEqual([5, 5]);
  expect(asked).toBe(5);
});
