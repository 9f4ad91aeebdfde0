/**
 * `@turnstream/react`: unstyled hooks and styled components for a session of `@turnstream/client`.
 * Invariant: languages other than English have their own subpaths, and chunks are not exported, so that neither is part
 * of the first load. The directive of each entry lets the server components of Next.js render what it exports.
 */
"use client";

export type {
  ArtifactProps,
  BlockProps,
  AgentHeaderProps,
  CitationProps,
  Components,
  ComposerProps,
  GroupProps,
  MarkdownProps,
  UserMessageProps,
  RunProps,
  TurnProps,
} from "./components.ts";
export type { ChatProps } from "./chat/chat-props.ts";
export { Chat } from "./chat/lazy-chat.ts";
export { type ApprovalRequest, useApprovalRequest } from "./cards/use-approval-request.ts";
export { type Countdown, useCountdown } from "./cards/use-countdown.ts";
export { type FormRequest, useFormRequest } from "./cards/use-form-request.ts";
export { type PaymentRequest, usePaymentRequest } from "./cards/use-payment-request.ts";
export { type QuestionRequest, useQuestionRequest } from "./cards/use-question-request.ts";
export type { MarkdownPlugin } from "./content/markdown-plugin.ts";
export { useReference } from "./content/citations/references.ts";
export { type LinkPolicy, DEFAULT_LINK_POLICY } from "./link-policy.ts";
export { DEFAULT_COMPONENTS, preload } from "./default-components.ts";
export { type ThreadContext, type ToolDetails, useThreadContext } from "./context.ts";
export { useAgentName } from "./hooks/use-names.ts";
export type { Announcement } from "@turnstream/client/view";
export { useAnnouncements } from "./thread/announcer.tsx";
export {
  useBlock,
  useGroup,
  useTurnLayout,
  useRun,
  useToolCall,
  useTurn,
  useTurnIds,
  useTurnSelector,
} from "./hooks/use-turn.ts";
export { type Action, useAction } from "./hooks/use-action.ts";
export { type ComposerState, useComposer } from "./hooks/use-composer.ts";
export type { ComposerOptions } from "@turnstream/client/view";
export { type StopAction, useIsRunning, useStop } from "./hooks/use-stop.ts";
export { type ThreadMessage, type ThreadStatus, type ThreadView, useThread } from "./hooks/use-thread.ts";
export { type StickToBottom, useStickToBottom } from "./hooks/use-stick-to-bottom.ts";
export { type MessageStatus, type MessageView, useMessage, usePendingMessages } from "./hooks/use-message.ts";
export { type ThreadHistory, useHistory } from "./hooks/use-history.ts";
export { useExpanded } from "./hooks/use-expanded.ts";
export {
  useConnection,
  useSession,
  useSessionView,
  useSessionSelector,
} from "./hooks/use-session-selector.ts";
export type {
  ArtifactComponents,
  ArtifactTypeProps,
  StreamedInput,
  ToolComponents,
  ToolProps,
} from "./own-components.ts";
export type { ToolsOf, ToolTypes } from "@turnstream/protocol";
export { type Part, usePart } from "./parts.tsx";
export { SessionProvider, type SessionProviderProps } from "./provider.tsx";
export type { Attachment, LayoutGroup, TurnLayout, LayoutBlock } from "@turnstream/client/view";
export { en } from "./strings/en/index.ts";
export { extendStrings, type StringChanges } from "./strings/extend-strings.ts";
export type { ClassNames, Names, PartName, Slots } from "./components.ts";
export type { Strings } from "./strings/strings.ts";
export { Thread, type ThreadProps } from "./thread/thread.tsx";
