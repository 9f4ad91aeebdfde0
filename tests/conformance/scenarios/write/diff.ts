/**
 * Computes the difference of two plain values as a JSON Patch (RFC 6902) of add, replace and remove. The patch is not
 * minimal: lists are compared index by index, which fits lists that only grow at their end.
 */
import type { Json } from "@turnstream/protocol";
import type { PatchOperation } from "../vector-types.ts";

export function diff(before: Json, after: Json, path = ""): PatchOperation[] {
  if (before === after) return [];
  if (Array.isArray(before) && Array.isArray(after)) return diffLists(before, after, path);
  if (isObject(before) && isObject(after)) return diffObjects(before, after, path);
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ op: "replace", path, value: after }];
}

function diffLists(before: readonly Json[], after: readonly Json[], path: string): PatchOperation[] {
  const operations: PatchOperation[] = [];
  for (const [at, value] of after.entries()) {
    const old = before[at];
    if (old === undefined) operations.push({ op: "add", path: `${path}/${at}`, value });
    else operations.push(...diff(old, value, `${path}/${at}`));
  }
  // From the end, so that the indexes before stay valid.
  for (let at = before.length - 1; at >= after.length; at--)
    operations.push({ op: "remove", path: `${path}/${at}` });
  return operations;
}

function diffObjects(before: JsonObject, after: JsonObject, path: string): PatchOperation[] {
  const operations: PatchOperation[] = [];
  for (const [key, value] of Object.entries(after)) {
    const at = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (old === undefined) operations.push({ op: "add", path: at, value });
    else operations.push(...diff(old, value, at));
  }
  for (const key of Object.keys(before)) {
    if (Object.hasOwn(after, key)) continue;
    operations.push({ op: "remove", path: `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}` });
  }
  return operations;
}

type JsonObject = { readonly [key: string]: Json };

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
