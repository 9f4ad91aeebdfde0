/**
 * `findLevel` returns the level at which a test file proves requirements. The folder of the file decides it.
 * Invariant: a test counts for one level only, so a test with a log written by hand never proves what an agent writes,
 * and a test without a browser never proves what users see.
 */

/**
 * - `encoder`: functions receive logs, frames or input that the test wrote. No agent runs, and nothing is connected.
 * - `runtime`: the parts of the server behind the gateway. Agents run, and the test reads the log, the store or prompts.
 * - `gateway`: a client receives bytes over a real connection to a gateway.
 * - `screen`: a page in Chromium.
 */
export type Level = "encoder" | "runtime" | "gateway" | "screen";

/** The first folder or file that a path starts with decides. */
const LEVEL_BY_PATH: readonly (readonly [path: string, level: Level])[] = [
  ["conformance/", "encoder"],
  ["packages/protocol/test/", "encoder"],
  ["packages/client/test/live/", "gateway"],
  ["packages/client/test/dialects/dialects.test.ts", "gateway"],
  ["packages/client/test/", "encoder"],
  ["packages/react/test/", "encoder"],
  ["packages/create/test/", "encoder"],
  ["packages/server/test/gateway/", "gateway"],
  ["packages/server/test/stories/network.nightly.test.ts", "gateway"],
  ["packages/server/test/stories/document-clients.nightly.test.ts", "gateway"],
  ["packages/server/test/", "runtime"],
  ["packages/cli/test/", "runtime"],
  ["packages/next/test/", "gateway"],
  ["browser/", "screen"],
  ["gallery/", "screen"],
  ["examples/", "screen"],
];

/** Throws for a file outside of the known folders, so that a new folder of tests gets a level. */
export function findLevel(path: string): Level {
  const found = LEVEL_BY_PATH.find(([start]) => path.startsWith(start));
  if (found === undefined) throw new Error(`\`LEVEL_BY_PATH\` has no level for ${path}. Add its folder.`);
  return found[1];
}
