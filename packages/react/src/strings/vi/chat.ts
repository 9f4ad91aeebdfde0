/**
 * `chat` are the Vietnamese strings of the list of sessions and of the whole chat.
 * Invariant: every key of the English strings has a text here.
 */
import type { ChatStrings } from "../strings.ts";

export const chat: ChatStrings = {
  sessions: "Các cuộc trò chuyện",
  newSession: "Cuộc trò chuyện mới",
  untitled: "Cuộc trò chuyện mới",
  noSessions: "Các cuộc trò chuyện của bạn sẽ hiện ở đây.",
  loading: "Đang tải…",
  moreSessions: "Hiện thêm",
  openList: "Mở danh sách cuộc trò chuyện",
  closeList: "Đóng danh sách cuộc trò chuyện",

  rename: (title) => `Đổi tên “${title}”`,
  newTitle: "Tên mới",
  save: "Lưu",
  renamed: "Đã đổi tên cuộc trò chuyện.",

  delete: (title) => `Xoá “${title}”`,
  deleteQuestion: "Xoá vĩnh viễn cuộc trò chuyện này?",
  deleteConfirm: "Xoá",
  cancel: "Hủy",
  deleted: "Đã xoá cuộc trò chuyện.",

  welcome: "Tôi có thể giúp gì cho bạn?",
  suggestions: "Gợi ý",
  missing: "Cuộc trò chuyện này không còn tồn tại. Bạn có thể bắt đầu cuộc trò chuyện mới.",
  signedOut: "Bạn đã đăng xuất. Hãy đăng nhập để xem các cuộc trò chuyện của bạn.",
};
