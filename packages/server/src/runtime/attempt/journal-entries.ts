/**
 * What a turn's journal holds, by key: the shapes of its entries. Types and keys only.
 */
import type { FormSchema, Json, Reference, Usage } from "@turnstream/protocol";
import type { FileErrorCode } from "../errors.ts";
import type { AssistantContent } from "../../models/model.ts";
import type { ModelContent } from "../../session/history/model-content.ts";
import type { TurnOutcome } from "../events/closing-events.ts";
import type { ApprovalRequirement } from "../define/approval.ts";
import type { StepCall } from "../events/step-writer.ts";

/** The agent as it was when the turn began: a journal that is days old goes on with it after a deploy. */
export interface PinnedAgent {
  readonly agent: string;
  readonly instructions: string;
  readonly tools: readonly PinnedTool[];
}

export interface PinnedTool {
  readonly name: string;
  readonly description: string;
  readonly input: Json;
  /** Set for a tool of a source: which one, what the source calls it, and what people read. */
  readonly source?: { readonly name: string; readonly tool: string; readonly label: string };
}

/** What asking a model came to. */
export interface UsageRecord {
  readonly usage: Usage;
  /** Which model was asked. */
  readonly model: string;
  /** At the prices of the agent that asked; absent in journals that are older than it. */
  readonly cost?: number;
}

export interface StepRecord extends UsageRecord {
  readonly blocks: readonly string[];
  readonly calls: readonly StepCall[];
  readonly content: AssistantContent;
  readonly text: string;
}

/** A part of a result for people, small enough for an event. */
export type ResultPart = { readonly reference?: Reference } & (
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly url: string }
);

/** What a call came to: `content` and `pool` for the model, the rest for people. */
export interface ToolCallRecord extends ModelContent {
  readonly preview: string;
  readonly blocks: readonly ResultPart[];
  /** How many parts were told before these blocks. */
  readonly parts: number;
  readonly artifact: Json;
  readonly results: number | null;
  readonly whole: Json;
  /** Set for what a sub-agent has used. */
  readonly usage: Usage | null;
  /** Set for a shared thought: what is said. */
  readonly thought: string | null;
  /** Set for a form that ends the turn; without a schema where a sub-agent has asked for it. */
  readonly form: { readonly form: string; readonly schema: FormSchema | null } | null;
}

/** What a file of the message amounts to. */
export interface FileRecord {
  readonly name: string;
  readonly url: string;
  readonly mediaType: string;
  readonly size: number;
  readonly chars: number;
  /** Its text went on: only the beginning is kept. */
  readonly isCut: boolean;
  /** Under which its text is kept; null when it could not be read. */
  readonly attachment: string | null;
  /** How its text begins. */
  readonly head: string;
  readonly problem: FileErrorCode | null;
}

export interface CompactionRecord extends UsageRecord {
  readonly summary: string;
  /** The number of the last turn that it sums up. */
  readonly upTo: number;
  readonly blocks: readonly string[];
}

/** A key that knows what is found under it. */
export type JournalKey<T> = string & { readonly record?: T };

export const OUTCOME_KEY: JournalKey<TurnOutcome> = "end";
export const COMPACTION_KEY: JournalKey<CompactionRecord> = "compact";
/** A body has begun to run. */
export const STREAM_STARTED_KEY: JournalKey<boolean> = "body";
/** The files of the message are read, and told in this block. */
export const FILES_KEY: JournalKey<{ readonly blocks: readonly string[] }> = "files";
export const STEP_PREFIX = "step/";
export const USAGE_PREFIX = "spent/";
export const CALL_PREFIX = "call/";
export const START_PREFIX = "start/";

/** @param path the call that started the run; "main" for the main run */
export const stepKey = (path: string, n: number): JournalKey<StepRecord> => `${STEP_PREFIX}${path}/${n}`;
/** What was spent on something that is no journaled step. @param what unlike any other of the path */
export const usageKey = (path: string, what: string): JournalKey<UsageRecord> =>
  `${USAGE_PREFIX}${path}/${what}`;
/** Of a step, or of what was spent. */
export const runPath = (key: string): string => key.split("/")[1] ?? "";
export const callKey = (call: string): JournalKey<ToolCallRecord> => `${CALL_PREFIX}${call}`;
export const approvalKey = (call: string): JournalKey<ApprovalRequirement | null> => `approval/${call}`;
/** Approved, and found to be another call than the one that was shown. */
export const mismatchKey = (call: string): JournalKey<boolean> => `mismatch/${call}`;
/** @param n which file of the message, from 0 */
export const fileKey = (n: number): JournalKey<FileRecord> => `file/${n}`;
/** @param id of the request that was committed */
export const requestedKey = (id: string): JournalKey<boolean> => `asked/${id}`;
export const startKey = (call: string): JournalKey<boolean> => `${START_PREFIX}${call}`;
export const pinnedKey = (path: string): JournalKey<PinnedAgent> => `pinned/${path}`;
