/**
 * `@turnstream/react`: unstyled hooks and styled components for a session of `@turnstream/client`.
 * Invariant: languages other than English have their own subpaths, and chunks are not exported, so that neither is part
 * of the first load. The directive of each entry lets the server components of Next.js render what it exports.
 */
"use client";

export { useApprovalRequest } from "./cards/use-approval-request.ts";
export { useCountdown } from "./cards/use-countdown.ts";
export { useFormRequest } from "./cards/use-form-request.ts";
export { usePaymentRequest } from "./cards/use-payment-request.ts";
export { useQuestionRequest } from "./cards/use-question-request.ts";
export { Chat } from "./chat/chat.tsx";
export type { AgentHeaderProps, BlockProps, Components, ComposerProps, TurnProps } from "./components.ts";
export { useReference } from "./content/citations/references.ts";
export type { MarkdownPlugin } from "./content/markdown-plugin.ts";
export type { SessionProviderProps } from "./context.ts";
export { DEFAULT_COMPONENTS, preload } from "./default-components.ts";
export { useAction } from "./hooks/use-action.ts";
export { useCardStrings as useStrings } from "./hooks/use-card-strings.ts";
export { useComposer } from "./hooks/use-composer.ts";
export { useExpanded } from "./hooks/use-expanded.ts";
export { useHistory } from "./hooks/use-history.ts";
export { useMessage, usePendingMessages } from "./hooks/use-message.ts";
export { useAgentName } from "./hooks/use-names.ts";
export {
  useConnection,
  useSession,
  useSessionSelector,
  useSessionView,
} from "./hooks/use-session-selector.ts";
export { useStickToBottom } from "./hooks/use-stick-to-bottom.ts";
export { useIsRunning, useStop } from "./hooks/use-action.ts";
export { type ThreadMessage, useThread } from "./hooks/use-thread.ts";
export {
  useBlock,
  useGroup,
  useRun,
  useToolCall,
  useTurn,
  useTurnIds,
  useTurnLayout,
  useTurnSelector,
} from "./hooks/use-turn.ts";
export type { ArtifactTypeProps, ToolComponents, ToolProps } from "./own-components.ts";
export { usePart } from "./parts.tsx";
export { SessionProvider } from "./provider.tsx";
export { en, type Strings } from "./strings/en.ts";
export { extendStrings } from "./strings/extend-strings.ts";
export { useAnnouncements } from "./thread/announcer.tsx";
export { Thread, type ThreadProps } from "./thread/thread.tsx";
export { ThreadRoot } from "./thread/thread-root.tsx";
export type { ToolsOf } from "@turnstream/protocol";
