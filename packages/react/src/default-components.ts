/** The parts as they are unless a team replaces them. The only place that knows them all. */
import type { Components } from "./components.ts";
import { Citation } from "./content/citations/citation.tsx";
import { Markdown } from "./content/markdown.tsx";
import { TextBlock } from "./content/text-block.tsx";
import {
  ApprovalCard,
  Artifact,
  FileProgress,
  FormCard,
  PaymentCard,
  QuestionCard,
} from "./cards/later-cards.ts";
import { Announcer } from "./thread/announcer.tsx";
import { Brand } from "./thread/brand.tsx";
import { Composer } from "./thread/composer.tsx";
import { ConnectionBanner } from "./thread/connection-banner.tsx";
import { ErrorNotice, StoppedNotice } from "./thread/notices.tsx";
import { StepGroup } from "./thread/step-group.tsx";
import { SubAgent } from "./thread/sub-agent.tsx";
import { ThinkingBlock } from "./thread/thinking-block.tsx";
import { ToolCall } from "./thread/tool-call.tsx";
import { Turn } from "./thread/turn.tsx";
import { UserMessage } from "./thread/user-message.tsx";

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
