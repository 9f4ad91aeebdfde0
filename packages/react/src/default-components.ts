/** The parts as they are unless a team replaces them. The only place that knows them all. */
import type { Components } from "./components.ts";
import { Citation } from "./content/citations/citation.tsx";
import { Markdown, markdown, TextBlock, ThinkingBlock } from "./content/text-block.tsx";
import { createLater, laterPart } from "./lazy-parts.tsx";
import { Announcer } from "./thread/announcer.tsx";
import { Composer } from "./thread/composer.tsx";
import { ConnectionBanner } from "./thread/connection-banner.tsx";
import { ErrorNotice, StoppedNotice } from "./thread/notices.tsx";
import { StepGroup } from "./thread/step-group.tsx";
import { ToolCall } from "./thread/tool-call.tsx";
import { SubAgent } from "./thread/turn-items.tsx";
import { Brand, Turn } from "./thread/turn.tsx";
import { UserMessage } from "./thread/user-message.tsx";

/** The cards and artifacts as parts that are loaded when a thread is first drawn. */
export const cards = createLater(() => import("./cards/cards-chunk.ts"));

const ApprovalCard = laterPart(cards, (parts) => parts.ApprovalCard);
const QuestionCard = laterPart(cards, (parts) => parts.QuestionCard);
const FormCard = laterPart(cards, (parts) => parts.FormCard);
const PaymentCard = laterPart(cards, (parts) => parts.PaymentCard);
const FileProgress = laterPart(cards, (parts) => parts.FileProgress);
const Artifact = laterPart(cards, (parts) => parts.Artifact);

export const DEFAULT_COMPONENTS: Components = {
  Turn,
  UserMessage,
  Brand,
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
  await Promise.all([markdown.preload(), cards.preload()]);
}
