/** What the work on turns needs: the backend, the agents, the limits, and how to report errors. Types only. */
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import type { Backend } from "../../session/backend.ts";
import type { Env } from "../../util/env.ts";
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { Semaphore } from "../../util/semaphore.ts";
import type { Agent } from "../define/agent.ts";
import type { FileLimits } from "../define/file-limits.ts";
import type { SourceTool, ToolSource } from "../define/tool-source.ts";
import type { Tool } from "../define/tool.ts";
import type { RuntimeStrings } from "../strings.ts";
import type { PinnedTool } from "./journal-entries.ts";

/** The tool sources of this worker, opened once each. */
export interface ToolSourceRegistry {
  /** The tools that the source offers now; null when it can't be reached. */
  list(source: ToolSource): Promise<Readonly<Record<string, SourceTool>> | null>;
  /** The tools of all sources of an agent, as the journal stores them. @param names taken by other tools */
  pin(agent: Agent, names: Iterable<string>): Promise<PinnedTool[]>;
}

/** One branch of a turn that waits for a decision. */
export interface DecisionWaiter {
  /** Call before asking the store: a decision that comes while the store answers then ends the next wait at once. */
  markChecked(): void;
  /** Resolves on the next decision in the session, or after a while. Throws the signal's reason. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** The branches that wait for decisions in this process, by session. */
export interface DecisionWaiterRegistry {
  open(session: string): DecisionWaiter;
}

export interface RuntimeContext extends Backend {
  readonly env: Env;
  /** Names this process in claims. */
  readonly executor: string;
  readonly agents: ReadonlyMap<string, Agent>;
  /** Answers messages that name no agent. */
  readonly defaultAgent: string;
  readonly toolSources: ToolSourceRegistry;
  /** Tools that the runtime itself brings, by the names that the model calls. */
  readonly builtInTools: ReadonlyMap<string, Tool>;
  readonly modelSlots: Semaphore;
  readonly toolSlots: Semaphore;
  /** Which addresses of users and models may be fetched. */
  readonly fetchPolicy: FetchPolicy;
  readonly fileLimits: FileLimits;
  readonly fileSlots: Semaphore;
  readonly strings: RuntimeStrings;
  readonly decisionWaiters: DecisionWaiterRegistry;
  /** How long a tool that is not idempotent may continue when the worker hands over. */
  readonly shutdownGraceMs: number;
  readonly maxAttemptsWithoutProgress: number;
  /** Whether the lease can't have expired: asked before anything irreversible. */
  holdsLease(): boolean;
  /** The same, by asking the store. */
  confirmLease(): Promise<boolean>;
  readonly onError: ErrorHandler;
}
