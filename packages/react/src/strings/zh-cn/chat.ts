/**
 * `chat` are the Simplified Chinese strings of the list of sessions and of the whole chat.
 * Invariant: every key of the English strings has a text here.
 */
import type { ChatStrings } from "../strings.ts";

export const chat: ChatStrings = {
  sessions: "对话",
  newSession: "新对话",
  untitled: "新对话",
  noSessions: "您的对话将显示在这里。",
  loading: "正在加载…",
  moreSessions: "显示更多",
  openList: "打开对话列表",
  closeList: "关闭对话列表",

  rename: (title) => `重命名“${title}”`,
  newTitle: "新名称",
  save: "保存",
  renamed: "对话已重命名。",

  delete: (title) => `删除“${title}”`,
  deleteQuestion: "永久删除此对话？",
  deleteConfirm: "删除",
  cancel: "取消",
  deleted: "对话已删除。",

  welcome: "有什么可以帮您？",
  suggestions: "建议",
  missing: "此对话已不存在。您可以开始新对话。",
  signedOut: "您已退出登录。请登录以查看您的对话。",
};
