/**
 * `Components` lists the replaceable parts of a thread by name, `PartName` those that can get a class, and `Slots` the
 * places for additions. Types only.
 * Invariant: parts receive ids and read data through hooks, so that a change re-renders only what it affects. Only
 * `Artifact`, `Citation` and `Markdown` receive content. The names match `BlockComponentName` of the turn layout.
 */
import type { AgentInfo } from "@turnstream/client";
import type { AttachmentLimits } from "@turnstream/client/view";
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

export interface ComposerProps extends AttachmentLimits {
  readonly placeholder?: string;
  readonly isDisabled?: boolean;
  /** The agent to ask. @default the first agent of the server */
  readonly agentId?: string;
  /** The agents that the user can choose from, such as those of `client.listAgents()`. Shown if there are several. */
  readonly agents?: readonly AgentInfo[];
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

/** The names of the parts of a thread, in `data-part`. */
export type PartName =
  | "agent-header"
  | "agent-picker"
  | "announcer"
  | "approval-card"
  | "artifact"
  | "attach-button"
  | "attachments"
  | "bubble"
  | "chat"
  | "citation"
  | "code-block"
  | "composer"
  | "composer-input"
  | "connection-banner"
  | "dock"
  | "error-notice"
  | "file-progress"
  | "files"
  | "form-card"
  | "group"
  | "load-more"
  | "markdown"
  | "newest-button"
  | "payment-card"
  | "question-card"
  | "scroll"
  | "send-button"
  | "session-list"
  | "session-row"
  | "sources"
  | "stop-button"
  | "stopped-notice"
  | "sub-agent"
  | "suggestion"
  | "text"
  | "thinking"
  | "thread"
  | "tool-call"
  | "tool-panel"
  | "turn"
  | "turns"
  | "user-message"
  | "welcome"
  | "working";

/** Classes of an app, by part. */
export type ClassNames = Readonly<Partial<Record<PartName, string>>>;

/** What an app adds at places of the thread. Each has the ids of its place. */
export interface Slots {
  /** Above the first turn. */
  readonly ThreadStart: ComponentType;
  /** Below the last turn and the queued messages. */
  readonly ThreadEnd: ComponentType;
  /** Below a user message. */
  readonly MessageEnd: ComponentType<UserMessageProps>;
  /** Below the answer of a turn. */
  readonly TurnEnd: ComponentType<TurnProps>;
  /** Below each text of an agent. */
  readonly TextEnd: ComponentType<BlockProps>;
  /** Above the row of the composer. */
  readonly ComposerTop: ComponentType;
  /** In the row of the composer, before the text. */
  readonly ComposerStart: ComponentType;
  /** In the row of the composer, before the send button. */
  readonly ComposerEnd: ComponentType;
}

/** Display names by id: a record, or a function that returns undefined for an unknown id. */
export type Names = Readonly<Record<string, string>> | ((id: string) => string | undefined);
