/**
 * `@turnstream/protocol/writer`: event checks, handoff points, blob URLs and wire formats, for code that writes or
 * serves a log. Readers need only the root entry.
 * Invariant: nothing here loads the schema library at run time; `/schema` does.
 */
export { artifactPreview } from "./artifacts/preview.ts";
export type { ArtifactProblem } from "./artifacts/shape.ts";
export { blobUrl, findBlobIds, parseBlobUrl, resolveBlobUrls } from "./blob-urls.ts";
export { checkEvent } from "./check-event/check-event.ts";
export { coalesce, joinDeltas } from "./coalesce.ts";
export type { Dialect } from "./dialects/dialect.ts";
export { QUESTION_TOOL } from "./dialects/interactions.ts";
export { TURN_ERROR_CODES, type TurnErrorCode } from "./errors.ts";
export type { EventDraft } from "./events/index.ts";
export { isKnownMessage } from "./fold/fold.ts";
export { interactionId, isRequest, outlivesTurn, TRANSITIONS } from "./fold/interaction.ts";
export { FORM_PROBLEMS } from "./form/problems.ts";
export {
  foldWithHandoffPoint,
  type HandoffTracker,
  isHandoffPoint,
  trackHandoffPoint,
} from "./handoff-point.ts";
export { ARGUMENT_LIMITS, MAX_LABEL, MAX_PREVIEW } from "./limits.ts";
export { omitHiddenEvent, omitHiddenTurn, REQUEST_FORM } from "./omit-hidden.ts";
export { redactForShare } from "./redact-for-share.ts";
export { turnSnapshot } from "./snapshot.ts";
export { formatSse, formatSseComment, toWireJson } from "./sse.ts";
export { truncateText } from "./truncate-text.ts";
export { findSubAgentRun, mainRunStatus, unansweredCalls } from "./turn-queries.ts";
