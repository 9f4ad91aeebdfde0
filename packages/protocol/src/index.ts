/**
 * `@turnstream/protocol`: events, fold, legality, hand-offs and views. Runs anywhere.
 * Each dialect is a subpath of its own (`/blocks`, `/tasks`, `/responses`), and so is validation (`/schema`).
 */
export { blobAddress, blobOf, blobsIn, withAddresses } from "./blob-urls.ts";
export { artifactMisfit } from "./artifacts/find-problem.ts";
export { artifactPreview } from "./artifacts/preview.ts";
export type { Misfit } from "./artifacts/shape.ts";
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
export { cutText } from "./truncate-text.ts";
export { ERRORS, type ErrorWord, errorWordOf, TURN_ERROR_WORDS, type TurnErrorWord } from "./errors.ts";
export type { Event, EventDraft, EventOf, EventType } from "./events/index.ts";
export { type ReadableEvent, upgrade } from "./events/upgrade.ts";
export { inputOf } from "./fold/block.ts";
export { findRun, findTurn } from "./fold/edit.ts";
export { fold, foldAll } from "./fold/fold.ts";
export { checkForm, checkPartialForm } from "./form/check-form.ts";
export { FORM_PROBLEMS, type FormProblem } from "./form/problems.ts";
export { interactionId, isPending, outlivesTurn, TRANSITIONS } from "./fold/interaction.ts";
export { type Place, placeOf } from "./fold/classify-event.ts";
export type { Json } from "./json.ts";
export { labelOf } from "./tool-label.ts";
export { MAX_LABEL, MAX_PREVIEW } from "./limits.ts";
export { legal } from "./check-event/check-event.ts";
export { type Illegal, type Rule, RULES } from "./check-event/rules.ts";
export { foldQuiet, isQuiet, type QuietTrack, trackQuiet } from "./handoff-point.ts";
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
  type Action,
  type Annotation,
  type Answer,
  type ApprovalBlock,
  type Artifact,
  type Block,
  type BlockBase,
  blocksOf,
  emptyState,
  type File,
  type FilesBlock,
  type FormBlock,
  type FormField,
  type FormSchema,
  type GroupEnd,
  type GroupStart,
  type InteractionBlock,
  isBlock,
  isOpen,
  isShown,
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
  type Whole,
} from "./state.ts";
export {
  callOf,
  mainRun,
  mainRunStatus,
  pendingIn,
  resultOf,
  runOfCall,
  unansweredCalls,
  waitingFormOf,
} from "./turn-queries.ts";
export { SCHEMA_VERSION } from "./version.ts";
export { type StatusDot, statusDot, toolItem, type ToolItem } from "./view/tool-item.ts";
export {
  type BlockItem,
  brandBlock,
  type GroupItem,
  type ViewItem,
  viewRun,
  viewTurn,
} from "./view/turn-view.ts";

export type { Decoded, Dialect, Encoded } from "./dialects/dialect.ts";
