/**
 * `cards` are the English strings of cards and content: approvals, questions, forms, payments, files, artifacts.
 * Invariant: they define the shape of the other languages, so a new key needs a text in each.
 */
import { countText } from "@turnstream/protocol";

export const cards = {
  // Common strings.
  send: "Send",
  sending: "Sending…",
  cancel: "Cancel",
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
  data: "Data",

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
  wrap: "Wrap",
};
