/** What the work on turns needs: where sessions live, who is told, which agents there are, and how much at a time. Types only. */
import type { Env } from "../../util/env.ts";
import type { Backend } from "../../session/backend.ts";
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import type { Agent } from "../define/agent.ts";
import type { FileLimits } from "../define/file-limits.ts";
import type { DecisionWaiters } from "../interactions/decision-waiters.ts";
import type { Semaphore } from "../../util/semaphore.ts";
import type { ToolSources } from "../tool-calls/tool-sources.ts";
import type { RuntimeStrings } from "../strings.ts";

export interface RuntimeContext extends Backend {
  readonly env: Env;
  /** Names this process in claims. */
  readonly executor: string;
  readonly agents: ReadonlyMap<string, Agent>;
  /** Who answers when a message doesn't say. */
  readonly defaultAgent: string;
  readonly sources: ToolSources;
  readonly modelSlots: Semaphore;
  readonly toolSlots: Semaphore;
  /** What may be fetched of what people and models name. */
  readonly fetch: FetchPolicy;
  readonly files: FileLimits;
  readonly fileSlots: Semaphore;
  readonly words: RuntimeStrings;
  readonly waiters: DecisionWaiters;
  /** How long a tool that may not be run again can go on when the worker hands over. */
  readonly graceMs: number;
  /** How often a turn is begun again before it is given up. */
  readonly maxAttempts: number;
  /** Whether this process is sure that nobody has taken its work over: asked before anything irreversible. */
  holdsLease(): boolean;
  /** The same, by asking the store. */
  confirmLease(): Promise<boolean>;
  /** Tells whoever runs this process of something that should not have happened. */
  onError(error: unknown, about: string): void;
}
