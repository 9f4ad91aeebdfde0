/** Puts something around every method of every sub-port at once. Knows no sub-port and adds nothing itself. */
import type { StorePorts } from "./store.ts";

type Call = (...args: unknown[]) => Promise<unknown>;

/**
 * @param around is given a method's full name (`sessions.get`), its arguments, and the call itself
 */
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
