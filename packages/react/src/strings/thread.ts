/**
 * `resolveStrings` returns the strings of a thread: those of an app, and English ones for what it left out.
 * Invariant: what most threads never show is not part of them, so that it is not part of the first load.
 */
import { ENGLISH_ANNOUNCEMENTS } from "@turnstream/client/view";
import { countText } from "@turnstream/protocol";
import { createResolver } from "./extend-strings.ts";
import { messages } from "./messages.ts";

const thread = {
  ...messages.thread,
  conversation: "Conversation",
  loadEarlier: "Show earlier messages",
  loadingEarlier: "Loading earlier messages…",
  loadEarlierFailed: "Earlier messages failed to load.",
  toNewest: "To the newest message",
  you: "You",
  /** The author of a message, in a shared session. */
  author: "Author",

  working: "Working…",
  done: "Done",
  thinking: "Thinking…",
  thought: "Thoughts",
  steps: countText("en", { one: "# step", other: "# steps" }),
  results: countText("en", { one: "# result", other: "# results" }),
  failedSteps: countText("en", { other: "# failed" }),
  seconds: (n: string): string => `${n} s`,
  minutes: (minutes: string, seconds: string): string => `${minutes} min ${seconds} s`,

  request: "Request",
  response: "Response",
  edited: "changed by you",
  showAll: "Show all",
  toolStatus: {
    pending: "running",
    done: "done",
    error: "failed",
    stopped: "stopped",
    waiting: "waiting for you",
  },
  subAgent: (name: string): string => `Work of ${name}`,

  lostTurns: "The server lost the newest messages of this chat.",
  resuming: "The answer continues in a moment…",
  noWorker: "No worker is running. The answer continues later.",
  retry: "Try again",

  messageStatus: {
    queued: "Queued",
    waiting: "Sent when you are online",
    sending: "Sending…",
    failed: "Not sent",
  },
  cancel: "Withdraw",
  discard: "Discard",
  resend: "Send again",

  placeholder: "Send a message…",
  message: "Message",
  send: "Send",
  stop: "Stop",
  attach: "Attach files",
  dropFiles: "Drop files here",
  removeFile: (name: string): string => `Remove ${name}`,
  uploading: (name: string): string => `Uploading ${name}`,
  uploadFailed: "Upload failed",
  files: "Files",

  connection: {
    connecting: "Connecting…",
    replaying: "Catching up…",
    resyncing: "Catching up…",
    waiting: "Connection lost. Reconnecting…",
    waitingFor: (seconds: string): string => `Connection lost. Retrying in ${seconds} s.`,
    offline: "You are offline.",
    closed: "Disconnected.",
    retryNow: "Retry now",
  },

  announce: ENGLISH_ANNOUNCEMENTS.strings,

  welcome: "How can I help?",
  suggestions: "Suggestions",
};

/** Of cards and content, what a thread shows before it has loaded them. */
const cards = {
  cancel: "Cancel",
  cannotShow: "This can't be shown.",
  leavesFor: (host: string): string => `This link leads to ${host}`,
  openLink: "Open",
};

/** English. */
export const threadStrings = { ...messages, thread, cards };

export type ThreadStrings = typeof threadStrings;

export const resolveStrings = /* @__PURE__ */ createResolver(threadStrings);
