/** Vietnamese, of the thread. */
import type { ThreadStrings } from "../strings.ts";

export const thread: ThreadStrings = {
  conversation: "Cuộc trò chuyện",
  loadEarlier: "Xem tin nhắn cũ hơn",
  loadingEarlier: "Đang tải tin nhắn cũ hơn…",
  loadEarlierFailed: "Chưa tải được tin nhắn cũ hơn.",
  toNewest: "Đến tin nhắn mới nhất",
  tryAgain: "Thử lại",
  you: "Bạn",

  working: "Đang xử lý…",
  done: "Hoàn thành",
  thinking: "Đang suy nghĩ…",
  thought: "Suy nghĩ",
  steps: (n) => `${n} bước`,
  results: (n) => `${n} kết quả`,
  failedSteps: (n) => `${n} bước lỗi`,
  running: "đang chạy",
  seconds: (n) => `${n} s`,
  minutes: (minutes, seconds) => `${minutes} phút ${seconds} s`,

  request: "Yêu cầu",
  response: "Phản hồi",
  edited: "bạn đã chỉnh sửa",
  showWhole: "Xem toàn bộ",
  toolStatus: { pending: "đang chạy", done: "hoàn thành", error: "lỗi", stopped: "đã dừng" },
  subAgent: (name) => `Công việc của ${name}`,

  stopped: "Bạn đã dừng. Gửi tin nhắn mới để tiếp tục.",
  failed: "Đã xảy ra lỗi. Những gì đã làm vẫn được giữ.",
  retry: "Thử lại",

  messageStatus: {
    queued: "Sẽ được đọc sau câu trả lời này",
    waiting: "Sẽ gửi khi có kết nối trở lại",
    sending: "Đang gửi…",
    failed: "Chưa gửi được",
  },
  withdraw: "Thu hồi",
  discard: "Bỏ",
  resend: "Gửi lại",

  placeholder: "Nhập tin nhắn…",
  message: "Tin nhắn",
  send: "Gửi",
  stop: "Dừng",
  attach: "Đính kèm tệp",
  dropFiles: "Thả tệp vào đây",
  removeFile: (name) => `Gỡ ${name}`,
  uploading: (name) => `Đang tải lên ${name}`,
  uploadFailed: "Tải lên không thành công",
  files: "Tệp",

  connection: {
    connecting: "Đang kết nối…",
    replaying: "Đang cập nhật…",
    resyncing: "Đang cập nhật…",
    waiting: "Mất kết nối. Đang kết nối lại…",
    waitingFor: (seconds) => `Mất kết nối. Thử lại sau ${seconds} s.`,
    offline: "Bạn đang ngoại tuyến. Cuộc trò chuyện sẽ tự tiếp tục khi có mạng.",
    closed: "Đã ngắt kết nối.",
    retryNow: "Thử ngay",
  },

  announce: {
    started: (agent) => `${agent} đang xử lý.`,
    needsApproval: (what) => `Cần bạn xác nhận: ${what}.`,
    needsAnswer: (what) => `Có câu hỏi cho bạn: ${what}`,
    needsForm: (what) => `Có biểu mẫu cần điền: ${what}.`,
    needsPayment: (what) => `Có khoản cần thanh toán: ${what}.`,
    done: (agent) => `${agent} đã trả lời xong.`,
    stopped: "Đã dừng.",
    failed: (what) => `Có lỗi. ${what}`,
  },
};
