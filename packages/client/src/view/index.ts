/**
 * `@turnstream/client/view`: view logic for pages with any framework or none: the layout of turns, a composer with
 * attachments, approvals, questions, forms with drafts, announcements, expanded parts, and a thread that follows its end.
 * Invariant: it uses no framework, draws nothing and opens no connection. Only `stickElementToBottom` uses the DOM.
 */
export { type AnnouncementStrings, ENGLISH_ANNOUNCEMENTS } from "./announcements.ts";
export {
  type Attachment,
  type AttachmentLimits,
  ATTACHMENT_LIMITS,
  type RefusedFile,
  canSend,
} from "./attachments.ts";
export { type ComposerOptions, type ComposerStore, createComposerStore } from "./composer-store.ts";
export {
  type ApprovalStore,
  type ApprovalView,
  createApprovalStore,
  hasTruncatedInput,
} from "./approval-store.ts";
export {
  checkDate,
  type EditField,
  type EditProblem,
  findEditProblem,
  parseArguments,
  toArguments,
} from "./edit-arguments.ts";
export { createExpandedState, type ExpandedState } from "./expanded-state.ts";
export { createFormStore, type FormStore, type FormView } from "./form-store.ts";
export {
  type AnswerDraft,
  createQuestionStore,
  formatAnswer,
  type QuestionStore,
  type QuestionView,
} from "./question-store.ts";
export { storeDraft } from "./store-draft.ts";
export { type StickyElement, stickElementToBottom } from "./stick-element-to-bottom.ts";
export { type Announcement, watchAnnouncements } from "./watch-announcements.ts";
export {
  type ThreadTopic,
  createThreadStore,
  isSameList,
  type TurnChunk,
  chunkTurns,
  type ThreadStore,
} from "./thread-store.ts";
export type { ReadableStore } from "./value-store.ts";
export {
  type LayoutGroup,
  type TurnLayout,
  type BlockComponentName,
  type LayoutBlock,
} from "./turn-layout.ts";
