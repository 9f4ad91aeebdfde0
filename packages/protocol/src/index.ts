/**
 * `@turnstream/protocol`: events, state, fold and views, for code that reads a session.
 * Invariant: nothing here loads the schema library at run time; `/schema` does. Writers and gateways also need
 * `/writer`. Each dialect has its own subpath (`/blocks`, `/tasks`, `/responses`).
 */
export { findArtifactProblem } from "./artifacts/find-problem.ts";
export type { ArtifactData } from "./artifacts/shapes.ts";
export {
  compareCursors,
  comparePositions,
  type Cursor,
  formatCursor,
  parseCursor,
  type Position,
  START_CURSOR,
} from "./cursor.ts";
export { type ErrorCode, errorCodeFromNumber, ERRORS } from "./errors.ts";
export type { EventOf, SessionEvent } from "./events/index.ts";
export { type ReadableEvent, upgradeEvent } from "./events/upgrade.ts";
export { currentInput } from "./fold/block.ts";
export { classifyEvent } from "./fold/classify-event.ts";
export { findRun, findTurn } from "./fold/edit.ts";
export { fold, foldAll } from "./fold/fold.ts";
export { isPending } from "./fold/interaction.ts";
export { checkForm, checkPartialForm } from "./form/check-form.ts";
export type { FormProblem } from "./form/problems.ts";
export type { Json } from "./json.ts";
export { canonicalLocale, countText, localeFallbacks } from "./locale.ts";
export { currencyDigits, formatMoney } from "./money.ts";
export { Sequence } from "./sequence.ts";
export { restore, restoreTurn, type Snapshot, snapshot, type TurnSnapshot } from "./snapshot.ts";
export { createSseParser, type SseMessage } from "./sse.ts";
export {
  type Annotation,
  type ApprovalAction,
  type ArgumentField,
  type ApprovalBlock,
  type Artifact,
  type Block,
  emptyState,
  type FileRef,
  type FormBlock,
  type FormField,
  type FormSchema,
  type FullContent,
  type InteractionBlock,
  type RequestBlock,
  isBlock,
  isOpen,
  listBlocks,
  type NoticeBlock,
  type PaymentBlock,
  type Question,
  type QuestionAnswer,
  type QuestionBlock,
  type Reference,
  type ResultPart,
  type Run,
  type SessionState,
  type TextBlock,
  type TextTemplate,
  type ToolCallBlock,
  type ToolResultBlock,
  type Turn,
  type TurnStatus,
  type Usage,
  type UserMessage,
} from "./state.ts";
export { toolLabel } from "./tool-label.ts";
export type { ToolsOf, ToolTypes, WithTools, WithToolTypes } from "./tool-types.ts";
export { findToolCall, findToolResult, listPendingInteractions, mainRun } from "./turn-queries.ts";
export { upgradeSnapshot, upgradeTurn } from "./upgrade-snapshot.ts";
export { SCHEMA_VERSION } from "./version.ts";
export { toolItem, type ToolItem, type ToolStatus } from "./view/tool-item.ts";
export { firstVisibleBlock, type GroupItem, type ViewItem, viewRun, viewTurn } from "./view/turn-view.ts";
