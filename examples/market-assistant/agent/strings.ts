/** `STRINGS` are the notices of the runtime, in the default language of the example. */
import type { WorkerOptions } from "@turnstream/server";

export const STRINGS: NonNullable<WorkerOptions["strings"]> = {
  stopped: "Bạn đã dừng. Gửi tin nhắn mới để tiếp tục.",
  thinkingLabel: "Suy nghĩ",
  errors: {
    SERVER_ERROR: "Máy chủ gặp sự cố. Những gì đã làm vẫn được giữ.",
    LLM_ERROR: "Mô hình không trả lời. Những gì đã làm vẫn được giữ.",
    LLM_RATE_LIMITED: "Mô hình quá tải. Những gì đã làm vẫn được giữ.",
    LLM_REFUSED: "Mô hình từ chối trả lời. Hãy thử diễn đạt khác.",
    CONTEXT_TOO_LONG: "Cuộc trò chuyện đã quá dài. Hãy bắt đầu cuộc mới.",
    OUTCOME_UNKNOWN: "Việc này bị gián đoạn, chưa rõ đã thực hiện hay chưa. Hãy kiểm tra lại.",
  },
  notRetryable: "Hiện không thể trả lời. Người vận hành cần kiểm tra.",
  toolFailed: "Không thực hiện được.",
  rejected: "Bạn đã từ chối.",
  formRequested: "Cần điền biểu mẫu.",
  notApproved: "Không ai xác nhận kịp thời.",
  truncatedArguments: (shown, of) => `[Cắt tại đây: hiển thị ${shown}/${of} ký tự.]`,
  readingFile: (name) => `Đang đọc ${name}`,
  fileCut: (name) => `${name} quá dài: chỉ đọc được phần đầu.`,
  filesRead: (read, of, cut) => {
    const done = read === of ? `Đã đọc ${of} tệp` : `Đã đọc ${read}/${of} tệp`;
    return cut === 0 ? done : `${done} (${cut} tệp chỉ đọc phần đầu)`;
  },
};
