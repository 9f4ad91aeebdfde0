/**
 * Who is signed in, as a name for what is kept in the browser for them: known from their token, and remembered, so that it
 * is known again before the app could ask for a token. Never a secret, and nothing is let in by it.
 */
import type { ClientEnv, Credentials } from "../options.ts";
import { claimsOf } from "./claims.ts";

export interface Person {
  /** Null while nobody knows. */
  readonly name: string | null;
  known(credentials: Credentials): void;
  onChange(changed: () => void): void;
}

export function createPerson(url: string, storage: ClientEnv["storage"]): Person {
  const entry = `turnstream:person:${url}`;
  let name = read(storage, entry);
  const listeners = new Set<() => void>();
  return {
    get name() {
      return name;
    },
    known(credentials) {
      const told = nameIn(credentials);
      if (told === name) return;
      name = told;
      try {
        storage?.setItem(entry, told);
      } catch {
        // Full or forbidden: then nothing is remembered.
      }
      for (const listener of listeners) listener();
    },
    onChange: (changed) => void listeners.add(changed),
  };
}

function read(storage: ClientEnv["storage"], entry: string): string | null {
  try {
    return storage?.getItem(entry) ?? null;
  } catch {
    return null;
  }
}

function nameIn(credentials: Credentials): string {
  if (!("token" in credentials)) return "";
  const { tenant, sub } = claimsOf(credentials.token);
  return `${tenant ?? ""}/${sub ?? ""}`;
}
