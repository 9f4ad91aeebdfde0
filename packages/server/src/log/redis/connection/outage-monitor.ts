/**
 * `OutageMonitor` reports to its listeners that a server is unreachable, refuses writes, deletes logs or isn't durable.
 *
 * Invariant: it reports an outage once, and again only after the server was connected or forgotten, or accepted writes
 * for `CALM_MS`. It ignores interruptions shorter than `REPORT_AFTER_MS`, such as a failover. That servers aren't
 * durable is reported once, for the first of them. The message contains host and port, never the URL, which may contain
 * a password.
 */
import { LogError } from "../../errors.ts";
import type { Durability } from "./durability.ts";

/**
 * Shorter than one connection attempt to a server that doesn't answer, so that the first failed attempt is reported.
 */
const REPORT_AFTER_MS = 2_500;

/** A server whose memory is almost full accepts some writes and refuses others. That is one outage. */
const CALM_MS = 30_000;

/** Longer than the time between two health checks of a server. */
const IMPAIRED_MS = 3_000;

interface Outage {
  since: number;
  /** Null while it is too short to be reported. */
  error: LogError | null;
}

interface Refusal extends Outage {
  lastAt: number;
}

type OutageListener = (error: LogError) => void;

export class OutageMonitor {
  readonly #now: () => number;
  /** By address, of servers that are not connected. */
  readonly #unreachable = new Map<string, Outage>();
  /** By address, of servers that refuse writes or did so a moment ago. */
  readonly #refusals = new Map<string, Refusal>();
  readonly #evicting = new Map<string, LogError>();
  #notDurable: LogError | null = null;
  readonly #listeners = new Set<OutageListener>();
  /** True once any server has answered. If none has, the address is more likely wrong than a server restarting. */
  hasConnected = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds a listener and calls it for every outage that still lasts. @returns a function that removes the listener */
  listen(listener: OutageListener): () => void {
    this.#listeners.add(listener);
    for (const { error } of [...this.#unreachable.values(), ...this.#refusals.values()])
      if (error !== null) listener(error);
    for (const error of this.#evicting.values()) listener(error);
    if (this.#notDurable !== null) listener(this.#notDurable);
    return () => void this.#listeners.delete(listener);
  }

  /** Records that there is no connection to the server and that a connection attempt starts. */
  connecting(address: string): void {
    this.#unreachable.set(address, { since: this.#now(), error: null });
  }

  failed(address: string, cause: unknown): void {
    const detail = `Redis at ${address} can't be reached`;
    this.#reportLasting(this.#unreachable.get(address), detail, cause);
  }

  /** Records that the server refused a write, with the code of its error. */
  refused(address: string, code: string): void {
    const now = this.#now();
    const refusal = this.#refusals.get(address) ?? { since: now, lastAt: now, error: null };
    this.#refusals.set(address, refusal);
    refusal.lastAt = now;
    this.#reportLasting(refusal, `Redis at ${address} refuses writes (${code})`);
  }

  #reportLasting(outage: Outage | undefined, detail: string, cause?: unknown): void {
    if (outage === undefined || outage.error !== null) return;
    if (this.#now() - outage.since < REPORT_AFTER_MS) return;
    outage.error = new LogError("UNAVAILABLE", { detail, cause });
    this.#report(outage.error);
  }

  /** Records that the server accepted a write. */
  accepted(address: string): void {
    const refusal = this.#refusals.get(address);
    if (refusal === undefined) return;
    if (refusal.error === null || this.#now() - refusal.lastAt >= CALM_MS) this.#refusals.delete(address);
  }

  /** Records what the server does when its memory is full. */
  evicts(address: string, policy: string | null): void {
    if (policy === null || policy === "noeviction") return void this.#evicting.delete(address);
    if (this.#evicting.has(address)) return;
    const detail = `Redis at ${address} has the \`maxmemory-policy\` ${policy}`;
    const error = new LogError("EVICTS", { detail });
    this.#evicting.set(address, error);
    this.#report(error);
  }

  /** Records whether an acknowledged append survives a crash of the server. */
  stores(address: string, durability: Durability): void {
    const { state } = durability;
    if (state === "durable" || state === "by-service" || this.#notDurable !== null) return;
    const shown = state === "lossy" ? `has \`${durability.setting}\`` : "doesn't show its settings";
    this.#notDurable = new LogError("NOT_DURABLE", { detail: `Redis at ${address} ${shown}` });
    this.#report(this.#notDurable);
  }

  /** The error of a server that deletes logs when its memory is full, or null. */
  get eviction(): LogError | null {
    return this.#evicting.values().next().value ?? null;
  }

  /** Returns true if a server can't be reached, or refused the last write. */
  get isImpaired(): boolean {
    const now = this.#now();
    const isUnreachable = [...this.#unreachable.values()].some(({ error }) => error !== null);
    return isUnreachable || [...this.#refusals.values()].some(({ lastAt }) => now - lastAt < IMPAIRED_MS);
  }

  #report(error: LogError): void {
    for (const listener of this.#listeners) listener(error);
  }

  connected(address: string): void {
    this.hasConnected = true;
    this.forget(address);
  }

  /** Records that the server is reachable. */
  forget(address: string): void {
    this.#unreachable.delete(address);
  }

  /** Stops tracking a server that is no longer used. */
  drop(address: string): void {
    this.forget(address);
    this.#refusals.delete(address);
    this.#evicting.delete(address);
  }
}
