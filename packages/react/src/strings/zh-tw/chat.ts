/**
 * `chat` are the Traditional Chinese strings of the list of sessions and of the whole chat.
 * Invariant: every key of the English strings has a text here.
 */
import type { ChatStrings } from "../strings.ts";

export const chat: ChatStrings = {
  sessions: "對話",
  newSession: "新對話",
  untitled: "新對話",
  noSessions: "您的對話將顯示在這裡。",
  loading: "載入中…",
  moreSessions: "顯示更多",
  openList: "開啟對話清單",
  closeList: "關閉對話清單",

  rename: (title) => `重新命名「${title}」`,
  newTitle: "新名稱",
  save: "儲存",
  renamed: "對話已重新命名。",

  delete: (title) => `刪除「${title}」`,
  deleteQuestion: "要永久刪除這個對話嗎？",
  deleteConfirm: "刪除",
  cancel: "取消",
  deleted: "對話已刪除。",

  welcome: "有什麼可以協助您？",
  suggestions: "建議",
  missing: "這個對話已不存在。您可以開始新的對話。",
  signedOut: "您已登出。請登入以檢視您的對話。",
};
