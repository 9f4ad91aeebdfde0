/**
 * `SummarizeGroup` is the hook of an agent that writes the header of a finished group of steps. Types only.
 *
 * Invariant: the hook gets what users saw of the steps, and nothing of hidden calls.
 */
import type { Json, UserMessage } from "@turnstream/protocol";
import type { ReportUsage } from "./report-usage.ts";

/** A visible step of a group. */
export type GroupStep =
  | { readonly type: "thinking"; readonly text: string }
  | {
      readonly type: "call";
      readonly name: string;
      readonly label: string;
      readonly input: Json;
      readonly status: "success" | "error" | "cancelled";
      /** The result as users see it, shortened. */
      readonly preview: string;
    };

export interface GroupSummaryContext {
  readonly steps: readonly GroupStep[];
  /** The label of the last call, or the label of thinking if the group has no call. */
  readonly defaultSummary: string;
  /** Aborted after 3 seconds, and when the turn stops. */
  readonly signal: AbortSignal;
  /** Counts tokens of a model that the hook asked as usage of the turn. */
  readonly reportUsage: ReportUsage;
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
  /** The owner of the session. */
  readonly user: string;
  /** The message that the turn answers. Null if the turn retries an earlier turn. */
  readonly message: UserMessage | null;
}

/** Returns the header, or null for the default. */
export type SummarizeGroup = (context: GroupSummaryContext) => string | null | Promise<string | null>;
