/**
 * Exports the cards and artifacts, the details of tool calls and the list of attachments as one chunk that is loaded
 * after the first render.
 * Invariant: only `lazy-cards.ts` imports this file, and only dynamically. A static import would add the cards
 * to the first load.
 */
export { Artifact } from "../content/artifact.tsx";
export { ApprovalCard } from "./approval-card.tsx";
export { FileProgress } from "./file-progress.tsx";
export { FormCard } from "./form-card.tsx";
export { PaymentCard } from "./payment-card.tsx";
export { QuestionCard } from "./question-card.tsx";
export { AttachmentList } from "../thread/attachment-list.tsx";
export { RequestPanel, ResponsePanel } from "../thread/tool-panels.tsx";
