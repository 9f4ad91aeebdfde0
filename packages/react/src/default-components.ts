/**
 * `DEFAULT_COMPONENTS` are the parts that an app has not replaced, and `preload` loads those that are in chunks.
 * Invariant: this is the only module that imports all of them. Cards, notices, artifacts and citations stay behind a
 * dynamic import, because a test limits the size of the first load.
 */
import type { Components } from "./components.ts";
import { lazyCards, lazyRequests } from "./cards/lazy-cards.ts";
import { lazyMarkdown, Markdown, TextBlock, ThinkingBlock } from "./content/text-block.tsx";
import { NoNotice } from "./lazy-parts.tsx";
import { Composer } from "./thread/composer.tsx";
import { ConnectionBanner } from "./thread/connection-banner.tsx";
import { StepGroup } from "./thread/step-group.tsx";
import { ToolCall } from "./thread/tool-call.tsx";
import { SubAgent } from "./thread/turn-items.tsx";
import { AgentHeader, Turn } from "./thread/turn.tsx";
import { UserMessage } from "./thread/user-message.tsx";

export const DEFAULT_COMPONENTS: Components = {
  Turn,
  UserMessage,
  AgentHeader,
  ThinkingBlock,
  TextBlock,
  ToolCall,
  StepGroup,
  SubAgent,
  ApprovalCard: lazyCards.part(({ ApprovalCard }) => ApprovalCard),
  QuestionCard: lazyCards.part(({ QuestionCard }) => QuestionCard),
  FormCard: lazyRequests.part(({ FormCard }) => FormCard),
  PaymentCard: lazyRequests.part(({ PaymentCard }) => PaymentCard),
  FileProgress: lazyCards.part(({ FileProgress }) => FileProgress),
  StoppedNotice: lazyCards.part(({ StoppedNotice }) => StoppedNotice),
  ErrorNotice: lazyCards.part(({ ErrorNotice }) => ErrorNotice),
  Artifact: lazyCards.part(({ Artifact }) => Artifact),
  Citation: lazyMarkdown.part(({ Citation }) => Citation),
  Markdown,
  Composer,
  ConnectionBanner,
  // Not part of the first load: there is nothing to announce before the first change.
  Announcer: lazyCards.part(({ Announcer }) => Announcer, NoNotice),
};

/**
 * Loads the chunks that are otherwise loaded when they are first needed. Call it before you render to a string, which
 * doesn't wait for them, so that answers and cards are part of the HTML.
 */
export async function preload(): Promise<void> {
  await Promise.all([lazyMarkdown.load(), lazyCards.load(), lazyRequests.load()]);
}
