/** Reads the recorded logs of the conformance vectors (`LOGS`, `eventsOf`) for tests. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { SessionEvent } from "@turnstream/protocol";

const folder = join(import.meta.dirname, "../../../../tests/conformance/vectors/fold");

export interface Log {
  readonly name: string;
  readonly events: readonly SessionEvent[];
}

export const LOGS: readonly Log[] = globSync("*.json", { cwd: folder })
  .toSorted()
  .map((file) => ({ name: basename(file, ".json"), events: read(join(folder, file)) }));

export function eventsOf(name: string): readonly SessionEvent[] {
  const log = LOGS.find((one) => one.name === name);
  if (log === undefined) throw new Error(`there is no log ${name}`);
  return log.events;
}

function read(path: string): SessionEvent[] {
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly events: SessionEvent[] }).events;
}
