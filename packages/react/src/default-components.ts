/** The parts as they are unless a team replaces them. The only place that knows them all. */
import type { Components } from "./components.ts";
import { Citation } from "./content/citations/citation.tsx";
import { Markdown, lazyMarkdown, TextBlock, ThinkingBlock } from "./content/text-block.tsx";
import { createLazyParts, lazyPart } from "./lazy-parts.tsx";
import { Announcer } from "./thread/announcer.tsx";
import { Composer } from "./thread/composer.tsx";
import { ConnectionBanner } from "./thread/connection-banner.tsx";
import { ErrorNotice, StoppedNotice } from "./thread/notices.tsx";
import { StepGroup } from "./thread/step-group.tsx";
import { ToolCall } from "./thread/tool-call.tsx";
import { SubAgent } from "./thread/turn-items.tsx";
import { AgentHeader, Turn } from "./thread/turn.tsx";
import { UserMessage } from "./thread/user-message.tsx";

/** The cards and artifacts as parts that are loaded when a thread is first drawn. */
export const lazyCards = createLazyParts(() => import("./cards/cards-chunk.ts"));

const ApprovalCard = lazyPart(lazyCards, (parts) => parts.ApprovalCard);
const QuestionCard = lazyPart(lazyCards, (parts) => parts.QuestionCard);
const FormCard = lazyPart(lazyCards, (parts) => parts.FormCard);
const PaymentCard = lazyPart(lazyCards, (parts) => parts.PaymentCard);
const FileProgress = lazyPart(lazyCards, (parts) => parts.FileProgress);
const Artifact = lazyPart(lazyCards, (parts) => parts.Artifact);

export const DEFAULT_COMPONENTS: Components = {
  Turn,
  UserMessage,
  AgentHeader,
  ThinkingBlock,
  TextBlock,
  ToolCall,
  StepGroup,
  SubAgent,
  ApprovalCard,
  QuestionCard,
  FormCard,
  PaymentCard,
  FileProgress,
  StoppedNotice,
  ErrorNotice,
  Artifact,
  Citation,
  Markdown,
  Composer,
  ConnectionBanner,
  Announcer,
};

/**
 * Loads what is otherwise loaded once a thread is drawn. On a server, before it draws: then answers and cards are in what it
 * draws. In a browser, before it takes over what such a server drew: both draw the same first.
 */
export async function preload(): Promise<void> {
  await Promise.all([lazyMarkdown.preload(), lazyCards.preload()]);
}
