/**
 * `StepRecord`, `ToolCallRecord` and the types beside them are what an agent writes to the journal of its turn, each with
 * its key. The rules of `journal-keys.ts` hold for them.
 */
import type { Json, Reference, Usage } from "@turnstream/protocol";
import {
  CALL_PREFIX,
  type EndingRequest,
  FILE_PREFIX,
  type JournalKey,
  STEP_PREFIX,
  SUMMARY,
  type UsageRecord,
} from "../../engine/attempt/journal-keys.ts";
import type { AssistantContent } from "../../models/model.ts";
import type { ModelContent } from "../../session/history/model-content.ts";
import type { ApprovalRequirement } from "../define/approval.ts";
import type { ImageLimits } from "../define/limits.ts";
import type { FileErrorCode } from "../../strings/runtime-strings.ts";

/** The agent's definition at the start of the run. A turn that is days old continues with it after a deploy. */
export interface PinnedAgent {
  readonly instructions: string;
  readonly tools: readonly PinnedTool[];
  /** Null if the model gets no images. */
  readonly images: ImageLimits | null;
}

export interface PinnedTool {
  readonly name: string;
  readonly description: string;
  readonly input: Json;
  /** Set for a tool of a tool source: the source, the tool's name in the source, and what users see of it. */
  readonly source?: {
    readonly name: string;
    readonly tool: string;
    readonly label: string;
    /** Both as in `SourceTool`. */
    readonly server?: string;
    readonly title?: string;
  };
}

export interface StepCall {
  readonly call: string;
  readonly name: string;
  /** The arguments; null if they are not valid JSON. */
  readonly input: Json;
  /** Set if the arguments can't be parsed: the error for the model. */
  readonly problem?: string;
}

export interface WrittenStep {
  readonly blocks: readonly string[];
  readonly calls: readonly StepCall[];
  readonly content: AssistantContent;
  readonly text: string;
}

export interface StepRecord extends UsageRecord, WrittenStep {}

/** A part of a result for users. It is small enough for an event. */
export type ResultPart = { readonly reference?: Reference } & (
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly url: string }
);

/** The outcome of a call: `content` and `pool` are for the model, the other fields for users. */
export interface ToolCallRecord extends ModelContent {
  readonly preview: string;
  readonly blocks: readonly ResultPart[];
  /** How many parts were written before these blocks. */
  readonly parts: number;
  readonly artifact: Json;
  /** The output for clients. Absent unless the tool publishes it. */
  readonly structured?: Json;
  readonly results: number | null;
  readonly whole: Json;
  /** What a sub-agent used, or what a tool reported. */
  readonly usage: Usage | null;
  /** True if the user refused the call or did not approve it in time. */
  readonly isRefusal?: boolean;
  /** Set for a shared thought: its text. */
  readonly thought: string | null;
  /** Set if the call ends the turn: the id of the request. The request is null if a sub-agent made it. */
  readonly ending: { readonly id: string; readonly request: EndingRequest | null } | null;
}

/** The result of reading one file of the message. */
export interface FileRecord {
  readonly name: string;
  readonly url: string;
  readonly mediaType: string;
  readonly size: number;
  readonly chars: number;
  /** True if the text was longer than the limit, so that only its start is stored. */
  readonly isCut: boolean;
  /** Id of the stored text; null if the file could not be read. */
  readonly attachment: string | null;
  /** The start of the text, for the prompt. */
  readonly head: string;
  /** Set for a fetched image that the model sees: a stable URL of its bytes. */
  readonly image?: string;
  readonly problem: FileErrorCode | null;
}

export interface CompactionRecord extends UsageRecord {
  readonly summary: string;
  /** Number of the last turn that the summary includes. */
  readonly upTo: number;
  readonly blocks: readonly string[];
}

export const COMPACTION_KEY: JournalKey<CompactionRecord> = SUMMARY;
/** The body of a stream agent has started. */
export const STREAM_STARTED_KEY: JournalKey<boolean> = "body";
/** @param path the call that started the run; "main" for the main run */
export const stepKey = (path: string, n: number): JournalKey<StepRecord> => `${STEP_PREFIX}${path}/${n}`;
export const callKey = (call: string): JournalKey<ToolCallRecord> => `${CALL_PREFIX}${call}`;
export const approvalKey = (call: string): JournalKey<ApprovalRequirement | null> => `approval/${call}`;
/** The call was approved but differs from the call that the user saw. */
export const mismatchKey = (call: string): JournalKey<boolean> => `mismatch/${call}`;
/** @param n index of the file in the message, from 0 */
export const fileKey = (n: number): JournalKey<FileRecord> => `${FILE_PREFIX}${n}`;
export const pinnedKey = (path: string): JournalKey<PinnedAgent> => `pinned/${path}`;
