/** `cardStates` lists the states of approvals, questions, forms, payments, files, citations and artifacts. */
import { ClientError } from "@turnstream/client";
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import * as approvals from "../logs/approvals.ts";
import * as artifacts from "../logs/artifacts.ts";
import * as endings from "../logs/endings.ts";
import * as forms from "../logs/forms.ts";
import * as payments from "../logs/payments.ts";
import * as questions from "../logs/questions.ts";
import { type GalleryState, of, openAll, press } from "./state.ts";

const log = (write: () => Story) => ({ log: () => write().events });
const approval = (...args: Parameters<typeof approvals.approval>) => log(() => approvals.approval(...args));
const question = (...args: Parameters<typeof questions.question>) => log(() => questions.question(...args));
const form = (...args: Parameters<typeof forms.form>) => log(() => forms.form(...args));
const payment = (...args: Parameters<typeof payments.payment>) => log(() => payments.payment(...args));
const artifact = (...args: Parameters<typeof artifacts.artifact>) => log(() => artifacts.artifact(...args));
const by = "usr_an";

const processing = { status: "processing" } as const;
const closed = new ClientError("INTERACTION_CLOSED", "This payment can't be changed any more.");

const decided = new ClientError("INTERACTION_CLOSED", "The approval is not pending any more.");

const showTable = press(".ts-toggles button:last-child");

export const cardStates: readonly GalleryState[] = [
  ...of("approval", {
    pending: approval(null),
    "10-seconds": { ...approval(null), leftSeconds: 10 },
    "no-deadline": approval(null, { timeoutSeconds: null }),
    "not-editable": approval(null, { editable: false }),
    editing: { ...approval(null), act: press("[data-action=edit]") },
    rejecting: { ...approval(null), act: press("[data-action=reject]") },
    refused: { ...approval(null), refusal: decided, act: press("[data-action=approve]") },
    always: approval(null, { always: true }),
    several: approval(null, approvals.severalActions),
    approved: { ...approval({ status: "approved", by }), at: "approval.update" },
    "approved-always": {
      ...approval({ status: "approved", by, always: true }, { always: true }),
      at: "approval.update",
    },
    edited: { ...approval(approvals.edited), at: "approval.update" },
    rejected: { ...approval({ status: "rejected", by, reason: "Not today." }), at: "approval.update" },
    "timed-out": { ...approval({ status: "timed_out" }), at: "approval.update" },
    cancelled: approval({ status: "cancelled" }),
    history: { ...approval(approvals.edited), act: openAll },
  }),
  ...of("question", {
    single: question([questions.single], null),
    multiple: question([questions.multiple], null),
    text: question([questions.freeText], null),
    several: question([questions.single, questions.multiple, questions.freeText], null),
    answered: question([questions.single, questions.multiple, questions.freeText], questions.answers),
    dismissed: question([questions.single], { status: "dismissed", by }),
    "timed-out": question([questions.single], { status: "timed_out" }),
    cancelled: question([questions.single], { status: "cancelled" }),
  }),
  ...of("form", {
    fields: form(null),
    errors: { ...form(null), act: press("form [type=submit]") },
    declining: { ...form(null), act: press("form .ts-row button[type=button]") },
    submitted: form(forms.submitted),
    declined: form({ status: "declined", by, reason: "I would rather call you." }),
    expired: form({ status: "expired" }),
    cancelled: form({ status: "cancelled" }),
    waits: { ...log(forms.waitingForm), at: "form.request" },
  }),
  ...of("payment", {
    pending: payment(),
    "10-seconds": { ...payment(), leftSeconds: 10 },
    "no-deadline": payment([], { expiresMs: null }),
    cancelling: { ...payment(), act: press("[data-action=cancel]") },
    refused: { ...payment(), refusal: closed, act: press("[data-action=refresh]") },
    refreshed: { ...payment([processing]), act: press("[data-action=refresh]") },
    processing: payment([processing]),
    succeeded: payment([processing, { status: "succeeded" }]),
    failed: payment([processing, { status: "failed", reason: "The card was declined." }]),
    cancelled: payment([{ status: "cancelled", by }]),
    expired: payment([{ status: "expired" }]),
    "long-texts": payment([], { order: payments.longTexts }),
    dollars: payment([processing], { order: payments.dollars }),
    dong: payment([], { order: payments.dong }),
    dinar: payment([processing, { status: "succeeded" }], { order: payments.dinar }),
  }),
  ...of("files", {
    processing: { ...log(() => endings.files(true)), at: "files.delta 2" },
    done: log(() => endings.files(true)),
    failed: log(() => endings.files(false)),
  }),
  ...of("artifact", {
    "chart-line": artifact(artifacts.chart("line")),
    "chart-bar": artifact(artifacts.chart("bar")),
    "chart-area": artifact(artifacts.chart("area")),
    "chart-pie": artifact(artifacts.chart("pie")),
    "chart-scatter": artifact(artifacts.chart("scatter")),
    "chart-as-table": { ...artifact(artifacts.chart("line")), act: showTable },
    table: artifact(artifacts.table),
    "table-cut": artifact(artifacts.cutTable),
    file: artifact(artifacts.file),
    image: artifact(artifacts.image),
    "image-foreign": artifact(artifacts.foreignImage),
    code: artifact(artifacts.code),
    custom: artifact(artifacts.custom),
    "custom-opened": { ...artifact(artifacts.custom), act: press(".ts-data-head") },
    unknown: artifact(artifacts.unknown),
  }),
  ...of("citation", {
    done: log(endings.citations),
    streaming: { ...log(endings.citations), at: "text.delta 4" },
    opened: { ...log(endings.citations), act: press(".ts-cite-chip") },
  }),
];
