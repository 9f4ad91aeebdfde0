/**
 * Who is signed in, as a name for what is kept in the browser for them: known from their token, and remembered, so that it
 * is known again before the app could ask for a token. Never a secret, and nothing is let in by it.
 */
import type { Credentials } from "./auth.ts";
import type { ClientEnv } from "../env.ts";
import { claimsOf } from "./claims.ts";

export interface Person {
  /** Null while nobody knows. */
  readonly name: string | null;
  /** Whether a token has said so; what is only remembered may be somebody who signed in here before. */
  readonly isSure: boolean;
  known(credentials: Credentials): void;
  /** @param changed told whether the one before was sure to be somebody else */
  onChange(changed: (isAnother: boolean) => void): void;
}

export function createPerson(url: string, storage: ClientEnv["storage"]): Person {
  const entry = `turnstream:person:${url}`;
  let name = read(storage, entry);
  let isSure = false;
  const listeners = new Set<(isAnother: boolean) => void>();
  return {
    get name() {
      return name;
    },
    get isSure() {
      return isSure;
    },
    known(credentials) {
      const told = nameIn(credentials);
      const wasSure = isSure;
      isSure = true;
      if (told === name) return;
      name = told;
      try {
        storage?.setItem(entry, told);
      } catch {
        // Full or forbidden: then nothing is remembered.
      }
      for (const listener of listeners) listener(wasSure);
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
