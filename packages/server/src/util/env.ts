/**
 * What the store needs from outside: time, ids and randomness, so that tests can say what they are.
 * With PostgreSQL, deadlines, leases and times of creation follow the database's clock and not this one.
 */
import { randomBytes, randomUUID } from "node:crypto";

export interface Env {
  /** Milliseconds since 1970. */
  now(): number;
  /** A new id, never given before. */
  id(): string;
  /** Bytes that nobody can guess. */
  randomBytes(size: number): Uint8Array;
}

export const systemEnv: Env = {
  now: () => Date.now(),
  id: () => randomUUID(),
  randomBytes: (size) => randomBytes(size),
};
