/**
 * Tries work again that collided with other work (a deadlock): all of it, since the database has undone all of it.
 * What has waited in vain for a lock is not tried again: its caller has waited long enough to decide.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Env } from "../../util/env.ts";
import { isCollision } from "./errors.ts";

const ATTEMPTS = 5;
const PAUSE_MS = 5;

/** @param work all or nothing, and repeatable: a transaction or a single statement */
export async function retryCollisions<T>(env: Env, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= ATTEMPTS || !isCollision(error)) throw error;
      // Those who collided should not come back together.
      await sleep(2 ** attempt * PAUSE_MS * (1 + (env.randomBytes(1)[0] ?? 0) / 255));
    }
  }
}
