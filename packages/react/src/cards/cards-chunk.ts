/**
 * Exports the cards and artifacts, the lines of tool calls, the notices of a turn's end, parts of the composer, the
 * greeting and the announcements as one chunk that is loaded after the first render.
 * Invariant: only `lazy-cards.ts` imports this file, and only dynamically. A static import would add the cards
 * to the first load.
 */
export { Artifact } from "../content/artifact.tsx";
export { ApprovalCard } from "./approval-card.tsx";
export { FileProgress } from "./file-progress.tsx";
export { QuestionCard } from "./question-card.tsx";
export { AgentPicker } from "../thread/agent-picker.tsx";
export { Announcer } from "../thread/announcer.tsx";
export { AttachmentList } from "../thread/attachment-list.tsx";
export { CallLine } from "../thread/call-line.tsx";
export { ComposerEffects } from "../thread/composer-effects.tsx";
export { ErrorNotice, StoppedNotice } from "../thread/notices.tsx";
export { RefusedFiles } from "../thread/attachment-list.tsx";
export { Welcome } from "../thread/welcome.tsx";
