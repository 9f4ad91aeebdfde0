/** The cards and artifacts as parts that are loaded when a thread is first drawn. */
import { createLater, laterPart } from "../lazy-parts.tsx";

export const cards = createLater(() => import("./cards-chunk.ts"));

export const ApprovalCard = laterPart(cards, (parts) => parts.ApprovalCard);
export const QuestionCard = laterPart(cards, (parts) => parts.QuestionCard);
export const FormCard = laterPart(cards, (parts) => parts.FormCard);
export const PaymentCard = laterPart(cards, (parts) => parts.PaymentCard);
export const FileProgress = laterPart(cards, (parts) => parts.FileProgress);
export const Artifact = laterPart(cards, (parts) => parts.Artifact);
