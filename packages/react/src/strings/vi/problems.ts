/** Vietnamese, of what can go wrong. */
import type { ProblemStrings } from "../strings.ts";

export const problems: ProblemStrings = {
  byCode: {
    OFFLINE: "Không có kết nối. Chưa có gì được gửi đi.",
    UNSURE: "Mất kết nối trước khi có phản hồi. Yêu cầu có thể đã đến nơi.",
    ABORTED: "Thao tác đã bị huỷ giữa chừng.",
    SERVER_ERROR: "Máy chủ gặp lỗi. Hãy thử lại sau giây lát.",
    BAD_REQUEST: "Máy chủ không nhận nội dung này. Hãy sửa lại hoặc tải lại trang.",
    UNAUTHENTICATED: "Hãy đăng nhập lại để tiếp tục.",
    FORBIDDEN: "Bạn không có quyền làm việc này.",
    NOT_FOUND: "Nội dung này không còn, hoặc bạn không xem được.",
    CONFLICT: "Có người đã trả lời trước. Hãy xem trạng thái hiện tại.",
    RATE_LIMITED: "Bạn thao tác quá nhanh. Đợi một lát rồi thử lại.",
    TOO_LARGE: "Nội dung quá lớn. Hãy gửi ít hơn.",
    STREAM_TIMEOUT: "Quá lâu không có phản hồi. Hãy thử lại.",
    CURSOR_INVALID: "Trang này đã mất vị trí đang đọc. Hãy tải lại trang.",
    CURSOR_EXPIRED: "Trang này đã ngắt quá lâu. Hãy tải lại trang.",
    STREAM_CLOSED: "Máy chủ đang khởi động lại. Sẽ tiếp tục trong giây lát.",
    LLM_ERROR: "Mô hình không trả lời được. Hãy thử lại.",
    LLM_RATE_LIMITED: "Mô hình đang quá tải. Hãy thử lại sau.",
    LLM_REFUSED: "Mô hình từ chối nội dung này. Hãy diễn đạt lại.",
    CONTEXT_TOO_LONG: "Cuộc trò chuyện quá dài đối với mô hình. Hãy bắt đầu cuộc mới.",
    TOOL_ERROR: "Một công cụ gặp lỗi. Hãy thử lại.",
    LIMIT_REACHED: "Đã đạt giới hạn.",
    OUTCOME_UNKNOWN: "Thao tác bị gián đoạn. Hãy kiểm tra xem đã có hiệu lực chưa.",
    INTERACTION_CLOSED: "Việc này đã được quyết định hoặc đã hết hạn.",
    INTERACTION_MISMATCH: "Nội dung đã thay đổi. Hãy xem lại rồi quyết định.",
  },
  other: (message) => `Chưa thực hiện được: ${message}`,
};
