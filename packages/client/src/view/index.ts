/**
 * `@turnstream/client/view`: framework-independent view logic for sessions, such as `createThreadStore` and
 * `listAnnouncements`.
 * Invariant: it uses no framework and no DOM, and opens no connection.
 */
export {
  type AnnouncementText,
  type AnnouncementOptions,
  type AnnouncementStrings,
  listAnnouncements,
} from "./announcements.ts";
export {
  type Attachment,
  type AttachmentInput,
  updateAttachments,
  canSend,
  isAccepted,
} from "./attachments.ts";
export {
  type ThreadTopic,
  createThreadStore,
  isSameList,
  type TurnChunk,
  chunkTurns,
  type ThreadStore,
} from "./thread-store.ts";
export {
  stepStickToBottom,
  STUCK_TO_BOTTOM,
  type StickToBottomState,
  type StickToBottomInput,
  type ScrollMetrics,
} from "./stick-to-bottom.ts";
export {
  type LayoutGroup,
  type LayoutItem,
  type TurnLayout,
  type BlockComponentName,
  type LayoutBlock,
} from "./turn-layout.ts";
