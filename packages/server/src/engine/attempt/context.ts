/**
 * `EngineContext` is what the engine works with in every turn of a worker. Types only.
 *
 * Invariant: `createWorker` builds it once. Code must check that the lease is fresh, or wait for it,
 * before every irreversible action.
 */
import type { LogRetention } from "../../session/archive/log-retention.ts";
import type { Backend } from "../../session/backend.ts";
import type { CatalogOptions } from "../../strings/catalogs.ts";
import type { Env } from "../../util/env.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { SecurityEventHandler } from "../../util/security-event.ts";
import type { Lease } from "../lease/lease.ts";
import type { TurnObserver } from "../turn/turn-observer.ts";
import type { DecisionWaiters } from "./decision-waiters.ts";
import type { RequestKind } from "./request-kind.ts";
import type { StoreClock } from "./store-clock.ts";

export interface EngineContext extends Backend {
  readonly env: Env;
  /** The store's clock. Use it for the age of a turn, because the clock of this machine may jump. */
  readonly storeClock: Pick<StoreClock, "now">;
  /** The name of this process in claims. */
  readonly executor: string;
  /** The kinds of requests that can end a turn. */
  readonly requestKinds: ReadonlyMap<string, RequestKind>;
  /** The texts for users, by language. `TurnAttempt.strings` are those of a turn. */
  readonly catalogs: CatalogOptions;
  readonly decisionWaiters: DecisionWaiters;
  /** How long a tool that is not idempotent may continue when the worker hands over. */
  readonly shutdownGraceMs: number;
  /** A turn that only waits for users leaves the worker after this time. */
  readonly parkAfterMs: number;
  readonly maxAttemptsWithoutProgress: number;
  readonly logRetention: LogRetention;
  /** How long deltas are collected before they are written to the log. */
  readonly deltaBatchMs: number;
  /** Aborted when the worker shuts down: running steps and tools end, and no new ones start. */
  readonly draining: AbortSignal;
  /** Check that it is fresh before every irreversible action. If it isn't, it is in doubt or lost. */
  readonly lease: Lease;
  /** Starts a queued turn of an agent soon, here or in another worker. */
  startNext(agent: string | null): void;
  readonly onError: ErrorHandler;
  /** Never throws. */
  readonly reportSecurityEvent: SecurityEventHandler;
  /** Never throws. */
  readonly onEvent?: TurnObserver;
}
