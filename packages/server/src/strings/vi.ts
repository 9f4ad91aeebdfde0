/**
 * `vi` are the Vietnamese texts of the runtime.
 *
 * Invariant: the type requires every text that English has.
 */
import { countText } from "@turnstream/protocol";
import type { ReachedLimit, RuntimeStrings } from "./runtime-strings.ts";

const count = (other: string) => countText("vi", { other });
const number = count("#");
const LIMITS: Readonly<Record<ReachedLimit["limit"], (value: number) => string>> = {
  steps: count("# bước"),
  tokens: count("# token"),
  events: count("# sự kiện"),
  seconds: count("# giây"),
  cost: count("chi phí #"),
};

export const vi: RuntimeStrings = {
  stopped: "Bạn đã dừng câu trả lời này. Gửi tin nhắn mới để tiếp tục.",
  thinkingLabel: "Suy nghĩ",
  errors: {
    SERVER_ERROR: "Máy chủ gặp sự cố. Vui lòng thử lại.",
    LLM_ERROR: "Mô hình không trả lời. Vui lòng thử lại.",
    LLM_RATE_LIMITED: "Mô hình đang bận. Vui lòng thử lại sau giây lát.",
    LLM_REFUSED: "Mô hình từ chối trả lời. Hãy thử diễn đạt khác.",
    CONTEXT_TOO_LONG: "Cuộc trò chuyện đã quá dài. Hãy bắt đầu cuộc mới.",
    OUTCOME_UNKNOWN: "Việc này bị gián đoạn, chưa rõ đã thực hiện hay chưa. Hãy kiểm tra lại.",
    USAGE_LIMIT_REACHED:
      "Câu trả lời này đã kết thúc vì đã hết hạn mức sử dụng của ngày hoặc tháng. Vui lòng thử lại sau.",
  },
  notRetryable: "Hiện không thể trả lời. Người vận hành dịch vụ cần kiểm tra.",
  crashed: "Không thể hoàn thành câu trả lời này sau nhiều lần thử. Bạn có thể thử lại.",
  toolFailed: "Không thực hiện được.",
  rejected: "Bạn đã từ chối.",
  formRequested: "Cần điền biểu mẫu.",
  notApproved: "Không được xác nhận kịp thời.",
  truncatedArguments: (shown, of) => `[Cắt tại đây: hiển thị ${number(shown)}/${number(of)} ký tự.]`,
  limit: ({ limit, value }) => `Câu trả lời đã kết thúc vì đạt giới hạn (${LIMITS[limit](value)}).`,
  historyLost:
    "Máy chủ đã mất các lượt trước lượt này sau sự cố cơ sở dữ liệu. Có thể cần gửi lại tin nhắn và quyết định trong khoảng thời gian đó.",
  retrying: (seconds, attempt, tries) =>
    `Mô hình không trả lời. Thử lại sau ${number(seconds)} giây (lần ${number(attempt)}/${number(tries)}).`,
  readingFile: (name) => `Đang đọc ${name}`,
  fileFailed: (name, problem) =>
    `Không đọc được ${name}: ${
      {
        NOT_ALLOWED: "không dùng được địa chỉ này",
        NOT_FOUND: "không tìm thấy gì ở đó",
        TOO_LARGE: "tệp quá lớn",
        TOO_MANY: "quá nhiều tệp cùng lúc",
        TIMEOUT: "mất quá nhiều thời gian",
        UNREACHABLE: "không kết nối được với máy chủ của tệp",
        UNSUPPORTED: "không đọc được loại tệp này",
        UNREADABLE: "tệp bị hỏng hoặc bị khóa",
      }[problem]
    }.`,
  fileCut: (name) => `${name} quá dài: chỉ đọc được phần đầu.`,
  filesRead: (read, of, cut) => {
    const done = read === of ? `Đã đọc ${number(of)} tệp` : `Đã đọc ${number(read)}/${number(of)} tệp`;
    return cut === 0 ? done : `${done} (${number(cut)} tệp chỉ đọc phần đầu)`;
  },
  conversationSummarized: "Đã tóm tắt cuộc trò chuyện đến đây",
};
