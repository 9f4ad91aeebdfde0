/** `applyPatch` applies a JSON Patch (RFC 6902; only add, replace, remove) to plain data in place. */
import type { PatchOperation } from "../vector-types.ts";

type Container = Record<string, unknown> | unknown[];

export function applyPatch(target: Container, operations: readonly PatchOperation[]): void {
  for (const operation of operations) {
    const path = operation.path
      .split("/")
      .slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = path.pop();
    if (last === undefined) throw new Error("the path of a patch must not be empty");
    let at: Container = target;
    for (const step of path) {
      const inner: unknown = (at as Record<string, unknown>)[step];
      if (typeof inner !== "object" || inner === null) throw new Error(`there is no ${operation.path}`);
      at = inner as Container;
    }
    applyAt(at, last, operation);
  }
}

function applyAt(at: Container, key: string, operation: PatchOperation): void {
  if (!["add", "replace", "remove"].includes(operation.op))
    throw new Error(`unknown operation ${operation.op}`);
  const isThere = Object.hasOwn(at, key);
  if (operation.op !== "add" && !isThere) throw new Error(`nothing to ${operation.op} at ${operation.path}`);
  if (Array.isArray(at)) {
    const index = Number(key);
    if (!Number.isInteger(index) || index < 0 || index > at.length)
      throw new Error(`no index ${operation.path}`);
    if (operation.op === "remove") at.splice(index, 1);
    else at.splice(index, operation.op === "replace" ? 1 : 0, operation.value);
  } else if (operation.op === "remove") delete at[key];
  else at[key] = structuredClone(operation.value);
}
