/** `@turnstream/react`: hooks without styles and components with them, over a session of `@turnstream/client`. */
export type {
  ArtifactProps,
  BlockProps,
  BrandProps,
  CitationProps,
  Components,
  ComposerProps,
  GroupProps,
  MarkdownProps,
  MessageProps,
  RunProps,
  TurnProps,
} from "./components.ts";
export { type Approval, useApproval } from "./cards/use-approval-request.ts";
export { type Countdown, useCountdown } from "./cards/use-countdown.ts";
export { type FormView, useForm } from "./cards/use-form-request.ts";
export { type QuestionView, useQuestion } from "./cards/use-question-request.ts";
export { useReference } from "./content/citations/references.ts";
export { type LinkPolicy, NO_HOSTS } from "./link-policy.ts";
export { DEFAULT_COMPONENTS, preload } from "./default-components.ts";
export { type Shared, useShared } from "./context.ts";
export { useAgentName } from "./hooks/use-names.ts";
export { type SpokenNews, useAnnouncements } from "./thread/announcer.tsx";
export {
  useBlock,
  useGroup,
  useOutline,
  useRun,
  useTool,
  useTurn,
  useTurnIds,
  useTurnPart,
} from "./hooks/use-turn.ts";
export { type Command, useCommand } from "./hooks/use-action.ts";
export { type ComposerModel, type ComposerOptions, useComposer } from "./hooks/use-composer.ts";
export { type FollowView, useFollow } from "./hooks/use-stick-to-bottom.ts";
export {
  type MessageStatus,
  type ShownMessage,
  useMessage,
  usePendingMessages,
} from "./hooks/use-message.ts";
export { type Older, useOlder } from "./hooks/use-history.ts";
export { useOpen } from "./hooks/use-expanded.ts";
export { useConnection, useSession, useView } from "./hooks/use-session-selector.ts";
export { SessionProvider, type SessionProviderProps } from "./provider.tsx";
export type { Attachment, LayoutGroup, TurnLayout, LayoutBlock } from "@turnstream/client/view";
export { en } from "./strings/en/index.ts";
export type { Strings } from "./strings/strings.ts";
export { Thread, type ThreadProps } from "./thread/thread.tsx";
