/**
 * `requireNode` refuses a version of Node that is too old, before a dependency fails with an error that doesn't name
 * it. Importing this file checks the current version. Invariant: the entries of this package import this file first,
 * because modules run in the order of their imports. It uses nothing that an old Node lacks.
 */
import { reportUncaught } from "./report-uncaught.ts";

/** The same as in `engines` of package.json, which npm only warns about. */
export const MIN_NODE = [22, 19] as const;

export function isSupportedNode(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1]);
}

function requireNode(version: string): void {
  if (isSupportedNode(version)) return;
  const message = `Turnstream needs Node ${MIN_NODE.join(".")} or later, and this is Node ${version}. Install a newer Node.`;
  throw reportUncaught(new Error(message));
}

requireNode(process.versions.node);
