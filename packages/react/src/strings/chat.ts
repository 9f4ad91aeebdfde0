/** `resolveChatStrings` returns strings with those of the list of sessions and of the whole chat. */
import { createResolver } from "./extend-strings.ts";
import { threadStrings } from "./thread.ts";

/** English. */
export const chat = {
  sessions: "Conversations",
  newSession: "New conversation",
  untitled: "Untitled conversation",
  noSessions: "Your conversations will be listed here.",
  loading: "Loading…",
  moreSessions: "Show more",
  openList: "Open the list of conversations",
  closeList: "Close the list of conversations",

  rename: (title: string): string => `Rename “${title}”`,
  newTitle: "New name",
  save: "Save",
  renamed: "The conversation was renamed.",

  delete: (title: string): string => `Delete “${title}”`,
  deleteQuestion: "Delete this conversation permanently?",
  deleteConfirm: "Delete",
  cancel: "Cancel",
  deleted: "The conversation was deleted.",

  missing: "This conversation no longer exists. You can start a new one.",
  signedOut: "You are signed out. Sign in to see your conversations.",
};

export const resolveChatStrings = /* @__PURE__ */ createResolver({ ...threadStrings, chat });

export type ChatStrings = ReturnType<typeof resolveChatStrings>;
