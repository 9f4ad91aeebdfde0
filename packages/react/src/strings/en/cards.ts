/** English, of cards and content: approvals, questions, forms, payments, files, artifacts. The others have its shape. */
import type { FormProblem } from "@turnstream/protocol";

export const cards = {
  // What many of them say.
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
  noArguments: "Without arguments",
  asJson: "Arguments as JSON",
  notJson: "This is no valid JSON object.",
  notNumber: "This is no number.",
  approvalKeys: "Press Y to approve, E to edit, N to reject.",
  approved: (who: string): string => (who === "" ? "Approved" : `Approved by ${who}`),
  approvedForGood: "for the rest of this conversation",
  edited: (who: string): string => (who === "" ? "Approved with changes" : `Approved with changes by ${who}`),
  rejected: (who: string): string => (who === "" ? "Rejected" : `Rejected by ${who}`),
  timedOut: "Nobody answered in time",
  withdrawn: "No longer needed",

  // Questions.
  question: "Question",
  answer: "Answer",
  skip: "Skip",
  freeText: "In your own words",
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
  fixFields: (n: number): string => (n === 1 ? "One field needs a look." : `${n} fields need a look.`),
  fieldProblem: ({ problem }: Pick<FormProblem, "problem">, { min, max }: Bounds): string =>
    ({
      required: "Fill this in.",
      wrong_type: "This doesn't fit the field.",
      too_short: `At least ${min} characters.`,
      too_long: `At most ${max} characters.`,
      too_small: `At least ${min}.`,
      too_large: `At most ${max}.`,
      too_few: `Choose at least ${min}.`,
      too_many: `Choose at most ${max}.`,
      not_an_option: "Choose one of the options.",
      chosen_twice: "Each option only once.",
      not_an_email: "Write an e-mail address, such as an@example.org.",
      not_a_phone: "Write a phone number, such as +84 90 123 4567.",
      not_a_date: "Write a date that exists.",
      not_uploaded: "Upload the file again.",
      unknown_field: "The form doesn't have this field.",
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

  // Files that are being read.
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
  image: "Picture",
  label: "Label",
  value: "Value",
  rowsOf: (shown: string, total: string): string => `${shown} of ${total} rows`,
  download: "Download",
  downloadAll: "Download all of it",
  cannotShow: "This can't be shown.",

  // Text.
  code: (language: string): string => (language === "" ? "Code" : `Code, ${language}`),
  copy: "Copy",
  copied: "Copied",
  leavesFor: (host: string): string => `This leads to ${host}`,
  openLink: "Open",
  openAt: (host: string): string => `Open ${host}`,
  imageFrom: (host: string): string => `Picture from ${host}`,
  loadImage: "Load",
  noImage: "Picture that can't be shown",
  source: (number: number, title: string): string =>
    title === "" ? `Source ${number}` : `Source ${number}: ${title}`,
  sources: "Sources",
  sourceMissing: "The source isn't here any more.",
};

interface Bounds {
  /** As the language writes them. */
  readonly min: string;
  readonly max: string;
}
