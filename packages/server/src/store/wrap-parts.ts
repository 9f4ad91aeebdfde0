/**
 * `wrapParts` wraps every method of every part of the store. It adds no behavior itself.
 *
 * Invariant: the parts are plain objects whose methods are own properties and don't use `this`. A method on a prototype
 * would be lost, and with it the argument checks and error mapping of the store.
 */
import type { StorePart, UsePart } from "./features.ts";
import type { StoreParts } from "./store.ts";

type Call = (...args: unknown[]) => Promise<unknown>;
type Around = (name: string, args: readonly unknown[], call: () => Promise<unknown>) => Promise<unknown>;

/** @param around receives the method's full name (`sessions.get`), its arguments and the original call */
export function wrapParts({ use, ...parts }: StoreParts, around: Around): StoreParts {
  const wrapped = Object.entries(parts).map(([name, part]) => [name, wrapMethods(name, part, around)]);
  const used = new WeakMap<StorePart<object>, object>();
  const useWrapped = (part: StorePart<object>): object => {
    const known = used.get(part) ?? wrapMethods(part.name, use(part), around);
    used.set(part, known);
    return known;
  };
  return { ...(Object.fromEntries(wrapped) as Omit<StoreParts, "use">), use: useWrapped as UsePart };
}

function wrapMethods(part: string, methods: object, around: Around): object {
  const wrapped = Object.entries(methods as Readonly<Record<string, Call>>).map(([method, call]) => {
    const name = `${part}.${method}`;
    return [method, (...args: unknown[]) => around(name, args, () => call(...args))];
  });
  return Object.fromEntries(wrapped) as object;
}
