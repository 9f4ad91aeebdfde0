/** The sub-port for API keys. Only the hash of a key is kept; nobody can be shown a key again. */

export interface NewKey {
  /** For people, to tell their keys apart. */
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; never when absent. */
  readonly expiresAt?: number;
}

export interface KeyInfo {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** True to the minute; a use within a transaction isn't noted. */
  readonly lastUsedAt: number | null;
}

export interface VerifiedKey {
  readonly id: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
}

export interface Keys {
  /** The one time that the secret is given out. */
  create(tenant: string, key: NewKey): Promise<{ readonly key: KeyInfo; readonly secret: string }>;
  /**
   * Whose key it is; null when it isn't one, was revoked or has expired. Compares in constant time. Works on
   * a database that can't be written to: that it was used is noted beside, if it can be.
   */
  verify(secret: string): Promise<VerifiedKey | null>;
  /** Those of these keys that are still good, for connections that were opened with one and go on. */
  live(ids: readonly string[]): Promise<Set<string>>;
  /** For good. False when the tenant has no such key or it was revoked before. */
  revoke(tenant: string, id: string): Promise<boolean>;
  /** The newest of them, at most 1,000, oldest first. */
  list(tenant: string): Promise<KeyInfo[]>;
}

/** How often a key that is in use is written down as used, at most. */
export const LAST_USED_MS = 60_000;
