/** The page's strings in Vietnamese. */
import type { PageStrings } from "./strings.ts";

export const vi: PageStrings = {
  name: "Trợ lý thị trường",
  tagline: "Hỏi về thị trường, danh mục, hay nhờ đặt lệnh. Bấm một gợi ý để bắt đầu.",
  analyst: "Chuyên gia phân tích",
  placeholder: "Nhắn cho Trợ lý thị trường…",
  suggestions: "Gợi ý",
  share: "Chia sẻ",
  shows: {
    market: "Nhóm bước, trích dẫn, bảng",
    buy: "Xin phép trước khi đặt lệnh",
    portfolio: "Hỏi lại khi chưa rõ",
    chart: "Biểu đồ",
    analyst: "Trợ lý phụ, trích dẫn",
    scan: "Việc dài, dừng được",
    forecast: "Lỗi và thử lại",
    account: "Biểu mẫu",
    file: "Tệp đính kèm",
  },
  untitled: "Cuộc trò chuyện mới",
  menu: "Mở danh sách",
  closeMenu: "Đóng danh sách",
  language: "Ngôn ngữ",
  theme: { system: "Giao diện: theo máy", light: "Giao diện: sáng", dark: "Giao diện: tối" },
  invented: "Mọi số liệu đều là minh hoạ.",
};
