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
export { type Approval, useApproval } from "./cards/use-approval.ts";
export { type Countdown, useCountdown } from "./cards/use-countdown.ts";
export { type FormView, useForm } from "./cards/use-form.ts";
export { type QuestionView, useQuestion } from "./cards/use-question.ts";
export { useReference } from "./content/use-reference.ts";
export { type LinkPolicy, NO_HOSTS } from "./link-policy.ts";
export { DEFAULT_COMPONENTS } from "./default-components.ts";
export { type Shared, useShared } from "./context.ts";
export { useAgentName } from "./hooks/use-agent-name.ts";
export { type SpokenNews, useAnnouncements } from "./hooks/use-announcements.ts";
export {
  useBlock,
  useGroup,
  useOutline,
  useRun,
  useTool,
  useTurn,
  useTurnIds,
  useTurnPart,
} from "./hooks/use-block.ts";
export { type Command, useCommand } from "./hooks/use-command.ts";
export { type ComposerModel, type ComposerOptions, useComposer } from "./hooks/use-composer.ts";
export { type FollowView, useFollow } from "./hooks/use-follow.ts";
export {
  type MessageStatus,
  type ShownMessage,
  useMessage,
  usePendingMessages,
} from "./hooks/use-message.ts";
export { type Older, useOlder } from "./hooks/use-older.ts";
export { useOpen } from "./hooks/use-open.ts";
export { useConnection, useSession, useView } from "./hooks/use-view.ts";
export { preload } from "./preload.ts";
export { SessionProvider, type SessionProviderProps } from "./provider.tsx";
export type { Attachment } from "./store/attachments.ts";
export type { Group, Outline, Step } from "./store/digest.ts";
export { en } from "./strings/en/index.ts";
export type { Strings } from "./strings/strings.ts";
export { Thread, type ThreadProps } from "./thread/thread.tsx";
