/**
 * `DEFAULT_COMPONENTS` are the parts that an app has not replaced, and `preload` loads those that are in chunks.
 * Invariant: this is the only module that imports all of them. Cards and artifacts stay behind a dynamic import,
 * because a test limits the size of the first load.
 */
import type { Components } from "./components.ts";
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

/** The cards and artifacts, loaded when a thread first renders. */
export const lazyCards = createLazyParts(() => import("./cards/cards-chunk.ts"));

const ApprovalCard = lazyPart(lazyCards, (parts) => parts.ApprovalCard);
const QuestionCard = lazyPart(lazyCards, (parts) => parts.QuestionCard);
const FormCard = lazyPart(lazyCards, (parts) => parts.FormCard);
const PaymentCard = lazyPart(lazyCards, (parts) => parts.PaymentCard);
const FileProgress = lazyPart(lazyCards, (parts) => parts.FileProgress);
const Artifact = lazyPart(lazyCards, (parts) => parts.Artifact);
const Citation = lazyPart(lazyMarkdown, (parts) => parts.Citation);

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
 * Loads the chunks that are otherwise loaded after the first render.
 * Call it on a server before rendering, so that answers and cards are part of the HTML. Call it in a browser before
 * hydrating such HTML, so that both first renders are equal.
 */
export async function preload(): Promise<void> {
  await Promise.all([lazyMarkdown.preload(), lazyCards.preload()]);
}
