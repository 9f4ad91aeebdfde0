/**
 * `RuntimeContext` is what every turn of a worker uses: the backend, the agents, the limits and the error handler.
 * Types only.
 *
 * Invariant: `createWorker` builds it once. Only `agents` and `defaultAgent` change, both at once. Code must check that
 * the lease is fresh, or wait for it, before every irreversible action.
 */
import type { Lease } from "../lease/lease.ts";
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import type { LogRetention } from "../../session/archive/log-retention.ts";
import type { Backend } from "../../session/backend.ts";
import type { Env } from "../../util/env.ts";
import type { TurnObserver } from "../turn/turn-observer.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { FairSemaphore } from "../../util/fair-semaphore.ts";
import type { SecurityEventHandler } from "../../util/security-event.ts";
import type { Agent } from "../../agent/define/agent.ts";
import type { FileLimits } from "../../agent/define/file-limits.ts";
import type { SourceTool, ToolSource } from "../../agent/define/tool-source.ts";
import type { Tool } from "../../agent/define/tool.ts";
import type { CatalogOptions } from "../../strings/catalogs.ts";
import type { DecisionWaiters } from "./decision-waiters.ts";
import type { PinnedTool } from "./journal-entries.ts";
import type { ModelCallMemory } from "../../agent/run/model-calls.ts";
import type { RequestKind } from "./request-kind.ts";
import type { StoreClock } from "./store-clock.ts";

/** The tool sources of this worker; each is opened once. */
export interface ToolSourceRegistry {
  /** Returns the tools that the source offers now, or null if it fails or times out. */
  list(source: ToolSource): Promise<Readonly<Record<string, SourceTool>> | null>;
  /**
   * Returns the tools of all sources of an agent, as the journal stores them.
   * @param names names that other tools have
   */
  pin(agent: Agent, names: Iterable<string>): Promise<PinnedTool[]>;
}

export interface RuntimeContext extends Backend {
  readonly env: Env;
  /** The store's clock. Use it for the age of a turn, because the clock of this machine may jump. */
  readonly storeClock: Pick<StoreClock, "now">;
  /** The name of this process in claims. */
  readonly executor: string;
  readonly agents: ReadonlyMap<string, Agent>;
  /** Answers messages that name no agent. */
  readonly defaultAgent: string;
  readonly toolSources: ToolSourceRegistry;
  /** Tools of the runtime itself, by the names that the model calls. */
  readonly builtInTools: ReadonlyMap<string, Tool>;
  readonly modelSlots: FairSemaphore;
  readonly toolSlots: FairSemaphore;
  /** Which addresses of users and models may be fetched. */
  readonly fetchPolicy: FetchPolicy;
  readonly fileLimits: FileLimits;
  /** The kinds of requests that can end a turn. */
  readonly requestKinds: ReadonlyMap<string, RequestKind>;
  /** Slots for reading the bytes and the text of a file. A fetch doesn't hold one. */
  readonly fileSlots: FairSemaphore;
  /** Slots for fetching a file from its URL. A file has one until its reading starts, which bounds the bytes in memory. */
  readonly fetchSlots: FairSemaphore;
  /** The texts for users, by language. `TurnAttempt.strings` are those of a turn. */
  readonly catalogs: CatalogOptions;
  readonly decisionWaiters: DecisionWaiters;
  /** How long a tool that is not idempotent may continue when the worker hands over. */
  readonly shutdownGraceMs: number;
  /** A turn that only waits for users leaves the worker after this time. */
  readonly parkAfterMs: number;
  readonly maxAttemptsWithoutProgress: number;
  readonly showsProviderErrors: boolean;
  readonly logRetention: LogRetention;
  /** How long deltas are collected before they are written to the log. */
  readonly deltaBatchMs: number;
  /** The memory for answers of models that are not journaled yet. */
  readonly modelCallMemory: ModelCallMemory;
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
