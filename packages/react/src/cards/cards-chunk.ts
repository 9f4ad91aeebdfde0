/** The cards and artifacts, in one chunk that is loaded after the first render. */
export { Artifact } from "../content/artifact.tsx";
export { ApprovalCard } from "./approval-card.tsx";
export { FileProgress } from "./file-progress.tsx";
export { FormCard } from "./form-card.tsx";
export { PaymentCard } from "./payment-card.tsx";
export { QuestionCard } from "./question-card.tsx";
