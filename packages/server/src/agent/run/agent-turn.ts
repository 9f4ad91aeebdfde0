/**
 * `AgentHost` is what the agents of a worker share, and `AgentTurn` what the runs of a turn share in one attempt.
 *
 * Invariant: `AgentMemory` outlives an attempt, so that a restart in this process asks no model twice.
 */
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import type { FetchPolicy } from "../../safe-fetch/policy.ts";
import type { FairSemaphore } from "../../util/fair-semaphore.ts";
import type { Agent } from "../define/agent.ts";
import type { FileLimits } from "../define/file-limits.ts";
import type { SourceTool, ToolSource } from "../define/tool-source.ts";
import type { Tool } from "../define/tool.ts";
import type { PinnedTool } from "./journal-entries.ts";
import { type ModelCallMemory, ModelCalls } from "./model-calls.ts";
import { ReferenceIdAllocator } from "./reference-pool.ts";

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

export interface AgentHost {
  readonly toolSources: ToolSourceRegistry;
  /** Tools of the runtime itself, by the names that the model calls. */
  readonly builtInTools: ReadonlyMap<string, Tool>;
  readonly modelSlots: FairSemaphore;
  readonly toolSlots: FairSemaphore;
  /** Which addresses of users and models may be fetched. */
  readonly fetchPolicy: FetchPolicy;
  readonly fileLimits: FileLimits;
  /** Slots for reading the bytes and the text of a file. A fetch doesn't hold one. */
  readonly fileSlots: FairSemaphore;
  /** Slots for fetching a file from its URL. A file has one until its reading starts, which bounds the bytes in memory. */
  readonly fetchSlots: FairSemaphore;
  readonly showsProviderErrors: boolean;
  /** The memory for answers of models that are not journaled yet. */
  readonly modelCallMemory: ModelCallMemory;
}

/** How often this process tried a step, and when to retry it. */
export interface StepAttempts {
  /** How often the model call failed. */
  readonly modelFailures: number;
  /** How often the model answered and the answer was lost before it was committed. */
  readonly unsavedAnswers: number;
  /** By a monotonic clock. */
  readonly nextAt: number;
}

class AgentMemory {
  readonly stepAttempts = new Map<string, StepAttempts>();
  readonly modelCalls: ModelCalls;

  constructor(memory: ModelCallMemory) {
    this.modelCalls = new ModelCalls(memory);
  }

  close(reason: unknown): void {
    this.modelCalls.close(reason);
  }
}

export interface AgentTurn {
  readonly attempt: TurnAttempt;
  readonly host: AgentHost;
  readonly stepAttempts: Map<string, StepAttempts>;
  readonly modelCalls: ModelCalls;
  readonly references: ReferenceIdAllocator;
}

export function openAgentTurn(attempt: TurnAttempt, host: AgentHost): AgentTurn {
  const { stepAttempts, modelCalls } = attempt.memory.part(
    "agent",
    () => new AgentMemory(host.modelCallMemory),
  );
  const references = ReferenceIdAllocator.from(attempt.entries);
  return { attempt, host, stepAttempts, modelCalls, references };
}
