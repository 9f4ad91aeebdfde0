/**
 * `@turnstream/protocol`: events, fold, legality, hand-offs and views. Runs anywhere.
 * Each dialect is a subpath of its own (`/blocks`, `/tasks`, `/responses`), and so is validation (`/schema`).
 */
export { blobUrl, parseBlobUrl, findBlobIds, resolveBlobUrls } from "./blob-urls.ts";
export { findArtifactProblem } from "./artifacts/find-problem.ts";
export { artifactPreview } from "./artifacts/preview.ts";
export type { ArtifactProblem } from "./artifacts/shape.ts";
export { ARTIFACTS, type ArtifactData, type ArtifactType } from "./artifacts/shapes.ts";
export { coalesce, joinDeltas } from "./coalesce.ts";
export {
  compareCursors,
  comparePositions,
  type Cursor,
  formatCursor,
  parseCursor,
  type Position,
  START_CURSOR,
} from "./cursor.ts";
export { truncateText } from "./truncate-text.ts";
export {
  ERRORS,
  type ErrorCode,
  errorCodeFromNumber,
  TURN_ERROR_CODES,
  type TurnErrorCode,
} from "./errors.ts";
export type { SessionEvent, EventDraft, EventOf, EventType } from "./events/index.ts";
export { type ReadableEvent, upgradeEvent } from "./events/upgrade.ts";
export { currentInput } from "./fold/block.ts";
export { findRun, findTurn } from "./fold/edit.ts";
export { fold, foldAll } from "./fold/fold.ts";
export { checkForm, checkPartialForm } from "./form/check-form.ts";
export { FORM_PROBLEMS, type FormProblem } from "./form/problems.ts";
export { interactionId, isPending, outlivesTurn, TRANSITIONS } from "./fold/interaction.ts";
export { type EventClass, classifyEvent } from "./fold/classify-event.ts";
export type { Json } from "./json.ts";
export { toolLabel } from "./tool-label.ts";
export { MAX_LABEL, MAX_PREVIEW } from "./limits.ts";
export { checkEvent } from "./check-event/check-event.ts";
export { type Violation, type EventRule, EVENT_RULES } from "./check-event/rules.ts";
export {
  foldWithHandoffPoint,
  isHandoffPoint,
  type HandoffTracker,
  trackHandoffPoint,
} from "./handoff-point.ts";
export { Sequence } from "./sequence.ts";
export {
  restore,
  restoreTurn,
  type Snapshot,
  snapshot,
  turnSnapshot,
  type TurnSnapshot,
} from "./snapshot.ts";
export {
  createSseParser,
  formatSse,
  formatSseComment,
  SseFieldError,
  type SseFrame,
  type SseMessage,
  type SseParser,
  type SseParserOptions,
  SseTooLargeError,
  toWireJson,
} from "./sse.ts";
export {
  type ApprovalAction,
  type Annotation,
  type QuestionAnswer,
  type ApprovalBlock,
  type Artifact,
  type Block,
  type BlockBase,
  listBlocks,
  emptyState,
  type FileRef,
  type FilesBlock,
  type FormBlock,
  type FormField,
  type FormSchema,
  type GroupEnd,
  type GroupStart,
  type InteractionBlock,
  isBlock,
  isOpen,
  isVisible,
  type Item,
  type ItemBase,
  type NoticeBlock,
  type PaymentBlock,
  type Question,
  type QuestionBlock,
  type Reference,
  type ResultPart,
  type Run,
  type SessionState,
  type Superseded,
  type TextBlock,
  type ThinkingBlock,
  type ToolCallBlock,
  type ToolResultBlock,
  type Turn,
  type TurnStatus,
  type Usage,
  type UserMessage,
  type FullContent,
} from "./state.ts";
export {
  findToolCall,
  mainRun,
  mainRunStatus,
  listPendingInteractions,
  findToolResult,
  findSubAgentRun,
  unansweredCalls,
  findWaitingForm,
} from "./turn-queries.ts";
export { SCHEMA_VERSION } from "./version.ts";
export { type ToolStatus, toolStatus, toolItem, type ToolItem } from "./view/tool-item.ts";
export {
  type BlockItem,
  firstVisibleBlock,
  type GroupItem,
  type ViewItem,
  viewRun,
  viewTurn,
} from "./view/turn-view.ts";

export type { Decoded, Dialect, Encoded } from "./dialects/dialect.ts";
