/**
 * `wrapPorts` wraps every method of every sub-port. It adds no behavior itself.
 *
 * Invariant: sub-ports are plain objects whose methods are own properties and don't use `this`. A method on a prototype
 * would be lost, and with it the argument checks and error mapping of the store.
 */
import type { StorePorts } from "./store.ts";

type Call = (...args: unknown[]) => Promise<unknown>;

/** @param around receives the method's full name (`sessions.get`), its arguments and the original call */
export function wrapPorts(
  ports: StorePorts,
  around: (name: string, args: readonly unknown[], call: () => Promise<unknown>) => Promise<unknown>,
): StorePorts {
  const wrapped = Object.entries(ports).map(([portName, port]) => {
    const methods = Object.entries(port as Readonly<Record<string, Call>>).map(([method, call]) => {
      const name = `${portName}.${method}`;
      return [method, (...args: unknown[]) => around(name, args, () => call(...args))];
    });
    return [portName, Object.fromEntries(methods)];
  });
  return Object.fromEntries(wrapped) as StorePorts;
}
