/**
 * `cards` are the English strings of cards and content: approvals, questions, forms, payments, files, artifacts.
 * Invariant: they define the shape of the other languages, so a new key needs a text in each. `fieldProblem` has a text
 * for every problem of a form field.
 */
import type { FormProblem } from "@turnstream/protocol";

export const cards = {
  // Common strings.
  send: "Send",
  sending: "Sending…",
  cancel: "Cancel",
  required: "required",
  timeLeft: (clock: string): string => `${clock} left`,
  secondsLeft: (seconds: number): string => `${seconds} seconds left to answer.`,
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
  fixFields: (n: number): string => (n === 1 ? "Check one field." : `Check ${n} fields.`),
  fieldProblem: ({ problem }: Pick<FormProblem, "problem">, { min, max }: Bounds): string =>
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
    })[problem],

  // Payments.
  payment: "Payment",
  openCheckout: "Open checkout",
  refresh: "Refresh",
  paymentStatus: {
    pending: "open",
    processing: "processing",
    succeeded: "paid",
    failed: "failed",
    cancelled: "cancelled",
    expired: "expired",
  },

  // Files of a message.
  readingFiles: (n: number): string => (n === 1 ? "Reading a file" : `Reading ${n} files`),
  filesRead: (n: number): string => (n === 1 ? "Read a file" : `Read ${n} files`),
  filesFailed: "Some files could not be read",
  fileStatus: { processing: "reading", completed: "read", failed: "not readable" } as Readonly<
    Record<string, string>
  >,
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
  cannotShow: "This can't be shown.",

  // Text.
  code: (language: string): string => (language === "" ? "Code" : `Code, ${language}`),
  copy: "Copy",
  copied: "Copied",
  leavesFor: (host: string): string => `This link leads to ${host}`,
  openLink: "Open",
  openAt: (host: string): string => `Open ${host}`,
  imageFrom: (host: string): string => `Image from ${host}`,
  loadImage: "Load",
  noImage: "This image can't be shown",
  source: (number: number, title: string): string =>
    title === "" ? `Source ${number}` : `Source ${number}: ${title}`,
  sources: "Sources",
  sourceMissing: "This source is no longer available.",
};

interface Bounds {
  /** Formatted for the locale. */
  readonly min: string;
  readonly max: string;
}
