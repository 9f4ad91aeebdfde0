/**
 * Shifts the wall clock of its process. Load it with `node --import`. It reads the file `clockFile` of the program's
 * settings every 10 ms: the file contains by how many milliseconds `Date` is off. A test changes the file, and the clock
 * of that one process jumps, as after a correction by an operator or a time server.
 *
 * Invariant: timers and `performance.now()` don't jump, because the system's monotonic clock doesn't either.
 */
import { readFileSync } from "node:fs";
import { readSettings } from "@turnstream/testkit/processes/parent-process.ts";

const READ_MS = 10;
const { clockFile } = readSettings() as { readonly clockFile?: string };
const RealDate = Date;
let shiftMs = 0;

class ShiftedDate extends RealDate {
  constructor(...args: [] | [number | string | Date]) {
    super(args[0] ?? RealDate.now() + shiftMs);
  }

  static override now(): number {
    return RealDate.now() + shiftMs;
  }
}

if (clockFile !== undefined) {
  globalThis.Date = ShiftedDate as DateConstructor;
  setInterval(() => {
    shiftMs = Number(readFileSync(clockFile, "utf8"));
  }, READ_MS).unref();
}
