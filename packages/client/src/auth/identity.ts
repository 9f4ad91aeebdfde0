/**
 * The signed-in user, as a name for what the browser stores for them. It comes from the token and is remembered, so that
 * it is known before the app gets a token. Never a secret, and never used for access.
 */
import type { Credentials } from "./auth.ts";
import type { ClientEnv } from "../env.ts";
import { readClaims } from "./claims.ts";

export interface Identity {
  /** Null while nobody knows. */
  readonly name: string | null;
  /** Whether a token has said so; what is only remembered may be somebody who signed in here before. */
  readonly isConfirmed: boolean;
  update(credentials: Credentials): void;
  /** @param changed is called with whether the user before was confirmed by a token */
  onChange(changed: (isOtherUser: boolean) => void): void;
}

export function createIdentity(url: string, storage: ClientEnv["storage"]): Identity {
  const entry = `turnstream:person:${url}`;
  let name = read(storage, entry);
  let isConfirmed = false;
  const listeners = new Set<(isOtherUser: boolean) => void>();
  return {
    get name() {
      return name;
    },
    get isConfirmed() {
      return isConfirmed;
    },
    update(credentials) {
      const userName = readUserName(credentials);
      const wasConfirmed = isConfirmed;
      isConfirmed = true;
      if (userName === name) return;
      name = userName;
      try {
        storage?.setItem(entry, userName);
      } catch {
        // Full or forbidden: then nothing is remembered.
      }
      for (const listener of listeners) listener(wasConfirmed);
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

function readUserName(credentials: Credentials): string {
  if (!("token" in credentials)) return "";
  const { tenant, sub } = readClaims(credentials.token);
  return `${tenant ?? ""}/${sub ?? ""}`;
}
