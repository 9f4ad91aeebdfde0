/**
 * `wrapParts` wraps every method of every part of the store. It adds no behavior itself.
 *
 * Invariant: the parts are plain objects whose methods are own properties and don't use `this`. A method on a prototype
 * would be lost, and with it the argument checks and error mapping of the store.
 */
import type { StoreParts } from "./store.ts";

type Call = (...args: unknown[]) => Promise<unknown>;

/** @param around receives the method's full name (`sessions.get`), its arguments and the original call */
export function wrapParts(
  parts: StoreParts,
  around: (name: string, args: readonly unknown[], call: () => Promise<unknown>) => Promise<unknown>,
): StoreParts {
  const wrapped = Object.entries(parts).map(([partName, part]) => {
    const methods = Object.entries(part as Readonly<Record<string, Call>>).map(([method, call]) => {
      const name = `${partName}.${method}`;
      return [method, (...args: unknown[]) => around(name, args, () => call(...args))];
    });
    return [partName, Object.fromEntries(methods)];
  });
  return Object.fromEntries(wrapped) as StoreParts;
}
