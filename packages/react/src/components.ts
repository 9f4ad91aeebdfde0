/**
 * The parts a thread is made of, by name: each can be replaced. They are given identities, not data, and take what they
 * need by hooks, so that a change draws only what it changes. Types only.
 */
import type { Annotation, Artifact } from "@turnstream/protocol";
import type { ComponentType } from "react";

export interface TurnProps {
  readonly turnId: string;
}

/** A block by its place in its turn (`items`), where it stays. */
export interface BlockProps {
  readonly turnId: string;
  readonly blockIndex: number;
}

/** A group by the place of its marker. */
export interface GroupProps {
  readonly turnId: string;
  readonly blockIndex: number;
}

/** What a sub-agent does, inside the call that started it. */
export interface RunProps {
  readonly turnId: string;
  readonly runId: string;
}

export interface ArtifactProps {
  readonly artifact: Artifact;
}

export interface CitationProps {
  /** From 1, as it is shown. */
  readonly number: number;
  readonly annotation: Annotation;
  /** Whose results it refers to. */
  readonly turnId: string;
}

export interface MarkdownProps {
  readonly text: string;
  /** Whether more may come: half-typed syntax is completed, and the last block is drawn anew. */
  readonly isStreaming: boolean;
  readonly annotations?: readonly Annotation[];
  /** Whose results the annotations refer to; without it there are no citations. */
  readonly turnId?: string;
}

export interface UserMessageProps {
  /** A user message of the log, of what waits, or of what is on its way. */
  readonly messageId: string;
  /** The turn that took it up, if any. */
  readonly turnId?: string;
}

export interface AgentHeaderProps {
  readonly agentId: string;
}

export interface ComposerProps {
  readonly placeholder?: string;
  readonly isDisabled?: boolean;
  /** Media types and endings, as an `<input type=file>` takes them; "" for no files. */
  readonly accept?: string;
  /** Which agent is asked; the server's first one unless told. */
  readonly agentId?: string;
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
