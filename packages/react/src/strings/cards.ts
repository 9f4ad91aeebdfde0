/** `resolveCardStrings` returns the strings of a thread with those that load with cards and parts of the composer. */
import { countText, type FormProblem } from "@turnstream/protocol";
import { createResolver } from "./extend-strings.ts";
import { threadStrings } from "./thread.ts";

type Bounds = {
  readonly min: string;
  readonly max: string;
};

/** Of cards and content. */
const cards = {
  ...threadStrings.cards,
  // Common strings.
  sending: "Sending…",
  required: "required",
  timeLeft: (clock: string): string => `${clock} left`,
  secondsLeft: countText("en", { one: "# second left to answer.", other: "# seconds left to answer." }),
  reason: "Reason (optional)",
  reasonGiven: (reason: string): string => `Reason: ${reason}`,
  yes: "Yes",
  no: "No",
  none: "–",

  // Approvals.
  approvalTitle: (action: string): string => `Allow “${action}”?`,
  approve: "Approve",
  approveAlways: "Always approve",
  edit: "Edit",
  reject: "Reject",
  approveEdited: "Approve with changes",
  confirmReject: "Reject",
  noArguments: "No arguments",
  asJson: "Arguments as JSON",
  notJson: "This is not a valid JSON object.",
  notNumber: "This is not a number.",
  approvalKeys: "Press Y to approve, E to edit, N to reject.",
  approved: (who: string): string => (who === "" ? "Approved" : `Approved by ${who}`),
  approvedForGood: "for the rest of this conversation",
  edited: (who: string): string => (who === "" ? "Approved with changes" : `Approved with changes by ${who}`),
  rejected: (who: string): string => (who === "" ? "Rejected" : `Rejected by ${who}`),
  timedOut: "Not answered in time",
  withdrawn: "No longer needed",

  // Questions.
  question: "Question",
  answer: "Answer",
  skip: "Skip",
  freeText: "Your own answer",
  chooseAny: "Choose any number",
  answered: (who: string): string => (who === "" ? "Answered" : `Answered by ${who}`),
  answeredByMessage: "Answered with a message",
  dismissed: (who: string): string => (who === "" ? "Skipped" : `Skipped by ${who}`),

  // Forms.
  submit: "Submit",
  decline: "Decline",
  choose: "Choose…",
  chooseFile: "Choose a file",
  removeFile: (name: string): string => `Remove ${name}`,
  uploading: (percent: string): string => `Uploading, ${percent}`,
  uploadFailed: "The file could not be uploaded.",
  draftSaved: "Draft saved",
  submitted: (who: string): string => (who === "" ? "Submitted" : `Submitted by ${who}`),
  declined: (who: string): string => (who === "" ? "Declined" : `Declined by ${who}`),
  expired: "Expired",
  fixFields: countText("en", { one: "Check one field.", other: "Check # fields." }),

  // Payments.
  payment: "Payment",
  paymentStatus: {
    pending: "open",
    processing: "processing",
    succeeded: "paid",
    failed: "failed",
    cancelled: "cancelled",
    expired: "expired",
  },

  // Files of a message.
  readingFiles: countText("en", { one: "Reading a file", other: "Reading # files" }),
  filesRead: countText("en", { one: "Read a file", other: "Read # files" }),
  filesFailed: "Some files could not be read",
  file: "File",

  // Artifacts.
  chart: "Chart",
  table: "Table",
  showChart: "chart",
  showTable: "table",
  image: "Image",
  label: "Label",
  value: "Value",
  rowsOf: (shown: string, total: string): string => `${shown} of ${total} rows`,
  download: "Download",
  downloadAll: "Download all",
  data: "Data",

  // Text.
  code: (language: string): string => (language === "" ? "Code" : `Code, ${language}`),
  copy: "Copy",
  copied: "Copied",
  openAt: (host: string): string => `Open ${host}`,
  imageFrom: (host: string): string => `Image from ${host}`,
  loadImage: "Load",
  noImage: "This image can't be shown",
  source: (number: number, title: string): string =>
    title === "" ? `Source ${number}` : `Source ${number}: ${title}`,
  sources: "Sources",
  sourceMissing: "This source is no longer available.",
  wrap: "Wrap",
};

/** The problem of a form field. The bounds are formatted. */
const fieldProblem = ({ problem }: Pick<FormProblem, "problem">, { min, max }: Bounds): string =>
  ({
    required: "This field is required.",
    wrong_type: "This value is not valid here.",
    too_short: `At least ${min} characters.`,
    too_long: `At most ${max} characters.`,
    too_small: `At least ${min}.`,
    too_large: `At most ${max}.`,
    too_few: `Choose at least ${min}.`,
    too_many: `Choose at most ${max}.`,
    not_an_option: "Choose one of the options.",
    chosen_twice: "Choose each option only once.",
    not_an_email: "Enter an e-mail address, such as an@example.org.",
    not_a_phone: "Enter a phone number, such as +84 90 123 4567.",
    not_a_date: "Enter an existing date.",
    not_uploaded: "Upload the file again.",
    unknown_field: "The form has no such field.",
    not_an_object: "This can't be sent.",
  })[problem];

/** Of the approval card, about the tool and about long arguments. */
const approvals = {
  tool: (name: string): string => `Tool: ${name}`,
  server: (name: string): string => `Server: ${name}`,
  /** The server's own text, which can claim anything. */
  title: (title: string): string => `The server calls it “${title}”.`,
  openFirst: "Open all arguments before you approve.",
  unavailable: "All arguments can't be shown, so this can't be approved.",
};

/** Of the payment card. The status of a payment is in `cards`, because it is announced too. */
const payments = {
  pay: "Pay",
  continueCheckout: "Continue to checkout",
  refresh: "Refresh",
  /** Announced after a refresh that changed nothing. */
  isCurrent: "The status is up to date.",
  order: (orderNo: string): string => `Order ${orderNo}`,
  secondsLeft: countText("en", { one: "# second left to pay.", other: "# seconds left to pay." }),

  cancel: "Cancel",
  confirmCancel: "Cancel this payment?",
  cancelPayment: "Cancel payment",
  keepPayment: "Keep it",

  /** What the card shows once the payment is final. */
  outcome: {
    succeeded: "The payment has been received.",
    failed: "The payment did not go through.",
    cancelled: (who: string): string =>
      who === "" ? "The payment was cancelled." : `${who} cancelled the payment.`,
    expired: "The payment was not completed in time.",
  },
};

/** Of refused files and the choice of an agent. */
const composer = {
  /** The names of files, or the first of them, and a sentence with the reason. */
  notAdded: (names: string, reason: string): string => `Not added: ${names}. ${reason}`,
  moreFiles: countText("en", { one: "one more file", other: "# more files" }),
  accepted: (kinds: string): string => `Accepted types: ${kinds}.`,
  noFiles: "Files can't be attached here.",
  maxSize: (size: string): string => `A file can have at most ${size}.`,
  maxFiles: countText("en", {
    one: "A message can have one file.",
    other: "A message can have at most # files.",
  }),
  /** Kinds of files that a media type such as `image/*` names. */
  kinds: { image: "images", audio: "audio", video: "videos", text: "text" } as Readonly<
    Record<string, string>
  >,
  dismiss: "Dismiss",
  agent: "Agent",
};

/** English. */
export const cardStrings = { ...threadStrings, cards, fieldProblem, approvals, payments, composer };

export type CardStrings = typeof cardStrings;

export const resolveCardStrings = /* @__PURE__ */ createResolver(cardStrings);
