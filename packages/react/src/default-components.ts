/**
 * `DEFAULT_COMPONENTS` are the parts that an app has not replaced, and `preload` loads those that are in chunks.
 * Invariant: this is the only module that imports all of them. Cards, notices, artifacts and citations stay behind a
 * dynamic import, because a test limits the size of the first load.
 */
import type { Components } from "./components.ts";
import { lazyCards, lazyRequests } from "./cards/lazy-cards.ts";
import { Markdown, lazyMarkdown, TextBlock, ThinkingBlock } from "./content/text-block.tsx";
import { lazyPart } from "./lazy-part.tsx";
import { Composer } from "./thread/composer.tsx";
import { ConnectionBanner } from "./thread/connection-banner.tsx";
import { StepGroup } from "./thread/step-group.tsx";
import { ToolCall } from "./thread/tool-call.tsx";
import { SubAgent } from "./thread/turn-items.tsx";
import { AgentHeader, Turn } from "./thread/turn.tsx";
import { UserMessage } from "./thread/user-message.tsx";

// Not part of the first load: there is nothing to announce before the first change.
const Announcer = lazyPart(lazyCards, (parts) => parts.Announcer, true);
const ApprovalCard = lazyPart(lazyCards, (parts) => parts.ApprovalCard);
const QuestionCard = lazyPart(lazyCards, (parts) => parts.QuestionCard);
const FormCard = lazyPart(lazyRequests, (parts) => parts.FormCard);
const PaymentCard = lazyPart(lazyRequests, (parts) => parts.PaymentCard);
const FileProgress = lazyPart(lazyCards, (parts) => parts.FileProgress);
const Artifact = lazyPart(lazyCards, (parts) => parts.Artifact);
const StoppedNotice = lazyPart(lazyCards, (parts) => parts.StoppedNotice);
const ErrorNotice = lazyPart(lazyCards, (parts) => parts.ErrorNotice);
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
  await Promise.all([lazyMarkdown.preload(), lazyCards.preload(), lazyRequests.preload()]);
}
