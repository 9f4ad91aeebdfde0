/**
 * `createIdentity` tracks the signed-in user under a name, which scopes the data that the browser stores. The name
 * comes from the token and is remembered, so that it is known before the app returns a token.
 * Invariant: the name is not a secret and is never used for access. A remembered name is unconfirmed until `update`,
 * because it may belong to an earlier user. Credentials without a token have the name "".
 */
import type { Credentials } from "./auth.ts";
import type { ClientEnv } from "../env.ts";
import { tryStorage } from "../outbox/storage.ts";
import { NO_REPORTS } from "../report.ts";
import { readClaims } from "./claims.ts";

export interface Identity {
  /** Null until the user is known. */
  readonly name: string | null;
  /** True if a token confirmed the name. A remembered name may belong to an earlier user of this browser. */
  readonly isConfirmed: boolean;
  /** Resolves once a token has confirmed the name. It asks for no token. */
  readonly confirmed: Promise<void>;
  update(credentials: Credentials): void;
  /** @param changed called with true if a token had confirmed the previous user */
  onChange(changed: (isOtherUser: boolean) => void): void;
}

export function createIdentity(url: string, storage: ClientEnv["storage"], report = NO_REPORTS): Identity {
  const entry = `turnstream:person:${url}`;
  let name = tryStorage(report, () => storage?.getItem(entry)) ?? null;
  let isConfirmed = false;
  let confirm: (() => void) | undefined;
  const confirmed = new Promise<void>((resolve) => (confirm = resolve));
  const listeners = new Set<(isOtherUser: boolean) => void>();
  return {
    get name() {
      return name;
    },
    get isConfirmed() {
      return isConfirmed;
    },
    confirmed,
    update(credentials) {
      const userName = readUserName(credentials);
      const wasConfirmed = isConfirmed;
      isConfirmed = true;
      confirm?.();
      if (userName === name) return;
      name = userName;
      tryStorage(report, () => storage?.setItem(entry, userName));
      for (const listener of listeners) listener(wasConfirmed);
    },
    onChange: (changed) => void listeners.add(changed),
  };
}

function readUserName(credentials: Credentials): string {
  if (!("token" in credentials)) return "";
  const { tenant, sub } = readClaims(credentials.token);
  return `${tenant ?? ""}/${sub ?? ""}`;
}
