/**
 * `Env` supplies time, ids and randomness, so that tests can replace them. `systemEnv` is the real one.
 * Invariant: ids are unique across processes, and `randomBytes` is cryptographically secure. `now` is the local clock:
 * with PostgreSQL, deadlines, leases and creation times follow the database's clock instead.
 */
import { randomBytes, randomUUID } from "node:crypto";

export interface Env {
  /** Milliseconds since 1970. */
  now(): number;
  /** Returns a new unique id. */
  id(): string;
  /** Returns cryptographically secure random bytes. */
  randomBytes(size: number): Uint8Array;
}

export const systemEnv: Env = {
  now: () => Date.now(),
  id: () => randomUUID(),
  randomBytes: (size) => randomBytes(size),
};
