/**
 * `createNamedEnv` gives a worker a known name, so that a test knows which process wrote an event.
 *
 * Invariant: a worker takes its executor name from the first id of its env. All further ids are unique.
 */
import { type Env, systemEnv } from "@turnstream/server/internal";

export function createNamedEnv(name: string): Env {
  let isNamed = false;
  return {
    ...systemEnv,
    id: () => {
      if (isNamed) return systemEnv.id();
      isNamed = true;
      return name;
    },
  };
}
