/**
 * `Components` lists the replaceable parts of a thread by name. Types only.
 * Invariant: parts receive ids and read data through hooks, so that a change re-renders only what it affects. Only
 * `Artifact`, `Citation` and `Markdown` receive content. The names match `BlockComponentName` of the turn layout.
 */
import type { Annotation, Artifact, Turn } from "@turnstream/protocol";
import type { ComponentType } from "react";

export interface TurnProps {
  readonly turnId: string;
}

/** A block by its index in `turn.items`, which never changes. */
export interface BlockProps {
  readonly turnId: string;
  readonly blockIndex: number;
}

/** A group by the index of its start marker. */
export interface GroupProps {
  readonly turnId: string;
  readonly blockIndex: number;
}

/** The work of a sub-agent, inside the call that started it. */
export interface RunProps {
  readonly turnId: string;
  readonly runId: string;
}

export interface ArtifactProps {
  readonly artifact: Artifact;
}

export interface CitationProps {
  /** The shown number, from 1. */
  readonly number: number;
  readonly annotation: Annotation;
  /** The turn whose results it refers to. */
  readonly turnId: string;
}

export interface MarkdownProps {
  readonly text: string;
  /** Whether more text may follow: incomplete syntax is then completed, and the last block is re-rendered. */
  readonly isStreaming: boolean;
  readonly annotations?: readonly Annotation[];
  /** The turn whose results the annotations refer to. Without it there are no citations. */
  readonly turnId?: string;
}

export interface UserMessageProps {
  /** The id of a message in the log, in the queue or in the outbox. */
  readonly messageId: string;
  /** The turn that answers it, if any. */
  readonly turnId?: string;
}

export interface AgentHeaderProps {
  readonly agentId: string;
}

export interface ComposerProps {
  readonly placeholder?: string;
  readonly isDisabled?: boolean;
  /** Accepted media types and extensions, like `accept` of an `<input type=file>`; "" for no files. */
  readonly accept?: string;
  /** The agent to ask. @default the first agent of the server */
  readonly agentId?: string;
  /** `chat` hides thinking, `agent` shows it. @default the mode of the agent */
  readonly mode?: Turn["mode"];
}

export interface Components {
  readonly Turn: ComponentType<TurnProps>;
  readonly UserMessage: ComponentType<UserMessageProps>;
  readonly AgentHeader: ComponentType<AgentHeaderProps>;
  readonly ThinkingBlock: ComponentType<BlockProps>;
  readonly TextBlock: ComponentType<BlockProps>;
  readonly ToolCall: ComponentType<BlockProps>;
  readonly StepGroup: ComponentType<GroupProps>;
  readonly SubAgent: ComponentType<RunProps>;
  readonly ApprovalCard: ComponentType<BlockProps>;
  readonly QuestionCard: ComponentType<BlockProps>;
  readonly FormCard: ComponentType<BlockProps>;
  readonly PaymentCard: ComponentType<BlockProps>;
  readonly FileProgress: ComponentType<BlockProps>;
  readonly StoppedNotice: ComponentType<BlockProps>;
  readonly ErrorNotice: ComponentType<BlockProps>;
  readonly Artifact: ComponentType<ArtifactProps>;
  readonly Citation: ComponentType<CitationProps>;
  readonly Markdown: ComponentType<MarkdownProps>;
  readonly Composer: ComponentType<ComposerProps>;
  readonly ConnectionBanner: ComponentType;
  readonly Announcer: ComponentType;
}
