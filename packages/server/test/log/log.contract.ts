/** The contract of the log: tests that run on every implementation. */
import { afterAll, beforeAll, describe } from "vitest";
import type { Log } from "../../src/log/log.ts";
import { attachContract } from "./reader/attach.contract.ts";
import { readContract } from "./reader/read.contract.ts";
import { writeContract } from "./writer/write.contract.ts";

export function logContract(name: string, open: () => Promise<Log>): void {
  describe(`Log on ${name}`, () => {
    let log: Log;
    beforeAll(async () => {
      log = await open();
    });
    afterAll(() => log.close());

    writeContract(() => log);
    readContract(() => log);
    attachContract(() => log);
  });
}
