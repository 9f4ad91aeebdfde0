/**
 * `thread`, `chat` and `errors` are the Vietnamese strings of the thread, of the whole chat and of errors.
 * Invariant: their types require every key of the English strings and a text for every error code.
 */
import { countText } from "@turnstream/protocol";
import type { ChatStrings, ComposerStrings, ErrorStrings, ThreadStrings } from "../strings.ts";

export const thread: ThreadStrings = {
  conversation: "Cuộc trò chuyện",
  loadEarlier: "Xem tin nhắn cũ hơn",
  loadingEarlier: "Đang tải tin nhắn cũ hơn…",
  loadEarlierFailed: "Chưa tải được tin nhắn cũ hơn.",
  toNewest: "Đi tới tin nhắn mới nhất",
  tryAgain: "Thử lại",
  loadFailed: "Một phần của trang không tải được. Hãy thử lại hoặc tải lại trang.",
  you: "Bạn",
  author: "Tác giả",

  working: "Đang xử lý…",
  done: "Hoàn thành",
  thinking: "Đang suy nghĩ…",
  thought: "Suy nghĩ",
  steps: countText("vi", { other: "# bước" }),
  results: countText("vi", { other: "# kết quả" }),
  failedSteps: countText("vi", { other: "# bước lỗi" }),
  seconds: (n) => `${n} s`,
  minutes: (minutes, seconds) => `${minutes} phút ${seconds} s`,

  request: "Yêu cầu",
  response: "Phản hồi",
  edited: "bạn đã chỉnh sửa",
  showAll: "Xem toàn bộ",
  toolStatus: {
    pending: "đang chạy",
    done: "hoàn thành",
    error: "lỗi",
    stopped: "đã dừng",
    waiting: "đang chờ bạn",
  },
  subAgent: (name) => `Công việc của ${name}`,

  stopped: "Bạn đã dừng. Gửi tin nhắn mới để tiếp tục.",
  failed: "Đã xảy ra lỗi. Các bước đã làm vẫn được lưu.",
  notRetryable: "Hiện không thể trả lời. Người vận hành dịch vụ cần kiểm tra.",
  limitReached: (limit) => `Câu trả lời đã kết thúc vì đạt giới hạn (${limit}).`,
  limits: {
    steps: countText("vi", { other: "# bước" }),
    tokens: countText("vi", { other: "# token" }),
    events: countText("vi", { other: "# sự kiện" }),
    seconds: countText("vi", { other: "# giây" }),
    cost: countText("vi", { other: "chi phí #" }),
  },
  lostTurns: "Máy chủ gặp sự cố và đã mất những tin nhắn mới nhất của cuộc trò chuyện này.",
  resuming: "Câu trả lời bị gián đoạn và sắp được tiếp tục…",
  noWorker: "Không có worker nào đang chạy. Tin nhắn sẽ được trả lời khi có worker.",
  retry: "Thử lại",

  messageStatus: {
    queued: "Đang chờ trả lời",
    waiting: "Sẽ gửi khi bạn trực tuyến trở lại",
    sending: "Đang gửi…",
    failed: "Chưa gửi được",
  },
  cancel: "Thu hồi",
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
    offline: "Bạn đang ngoại tuyến. Cuộc trò chuyện sẽ tiếp tục khi bạn trực tuyến trở lại.",
    closed: "Đã ngắt kết nối.",
    retryNow: "Thử ngay",
  },

  announce: {
    started: (agent) => `${agent} đang xử lý.`,
    needsApproval: (what) => `Cần bạn xác nhận: ${what}.`,
    needsAnswer: (what) => `Có câu hỏi cho bạn: ${what}`,
    needsForm: (what) => `Có biểu mẫu cần điền: ${what}.`,
    needsPayment: (what) => `Có khoản cần thanh toán: ${what}.`,
    paymentChanged: (what, status) => `Khoản thanh toán ${what}: ${status}.`,
    done: (agent) => `${agent} đã trả lời xong.`,
    stopped: "Đã dừng.",
    failed: (what) => `Có lỗi. ${what}`,
  },

  welcome: "Tôi có thể giúp gì cho bạn?",
  suggestions: "Gợi ý",
};

export const chat: ChatStrings = {
  sessions: "Các cuộc trò chuyện",
  newSession: "Cuộc trò chuyện mới",
  untitled: "Cuộc trò chuyện chưa có tên",
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

  missing: "Cuộc trò chuyện này không còn tồn tại. Bạn có thể bắt đầu cuộc trò chuyện mới.",
  signedOut: "Bạn đã đăng xuất. Hãy đăng nhập để xem các cuộc trò chuyện của bạn.",
};

/** Vietnamese texts of refused files and of the choice of an agent. */
export const composer: ComposerStrings = {
  notAdded: (names, reason) => `Chưa thêm: ${names}. ${reason}`,
  moreFiles: countText("vi", { other: "# tệp khác" }),
  accepted: (kinds) => `Các loại được nhận: ${kinds}.`,
  noFiles: "Không thể đính kèm tệp ở đây.",
  maxSize: (size) => `Mỗi tệp tối đa ${size}.`,
  maxFiles: countText("vi", { other: "Mỗi tin nhắn có tối đa # tệp." }),
  kinds: { image: "hình ảnh", audio: "âm thanh", video: "video", text: "văn bản" },
  dismiss: "Đóng",
  agent: "Trợ lý",
};

/** Vietnamese texts of errors. */
export const errors: ErrorStrings = {
  byCode: {
    OFFLINE: "Không có kết nối. Chưa có gì được gửi đi.",
    UNSURE: "Mất kết nối trước khi có phản hồi. Yêu cầu có thể đã thành công.",
    ABORTED: "Thao tác đã bị huỷ trước khi hoàn thành.",
    SERVER_ERROR: "Máy chủ gặp lỗi. Hãy thử lại sau giây lát.",
    BAD_REQUEST: "Máy chủ đã từ chối nội dung này. Hãy sửa lại hoặc tải lại trang.",
    UNAUTHENTICATED: "Hãy đăng nhập lại để tiếp tục.",
    FORBIDDEN: "Bạn không có quyền làm việc này.",
    NOT_FOUND: "Nội dung này không còn tồn tại, hoặc bạn không có quyền truy cập.",
    CONFLICT: "Người dùng khác đã nhanh hơn. Hãy kiểm tra trạng thái hiện tại.",
    RATE_LIMITED: "Bạn đã dùng hết giới hạn. Hãy thử lại sau.",
    TOO_LARGE: "Nội dung quá lớn. Hãy gửi ít hơn.",
    STREAM_TIMEOUT: "Máy chủ quá lâu không phản hồi. Hãy thử lại.",
    CURSOR_INVALID: "Trang này không còn đồng bộ. Hãy tải lại trang.",
    CURSOR_EXPIRED: "Trang này đã mất kết nối quá lâu. Hãy tải lại trang.",
    STREAM_CLOSED: "Máy chủ đang khởi động lại. Câu trả lời sẽ tiếp tục trong giây lát.",
    LLM_ERROR: "Mô hình không trả lời được. Hãy thử lại.",
    LLM_RATE_LIMITED: "Mô hình đang quá tải. Hãy thử lại sau.",
    LLM_REFUSED: "Mô hình từ chối nội dung này. Hãy diễn đạt lại.",
    CONTEXT_TOO_LONG: "Cuộc trò chuyện quá dài đối với mô hình. Hãy bắt đầu cuộc mới.",
    TOOL_ERROR: "Một công cụ gặp lỗi. Hãy thử lại.",
    LIMIT_REACHED: "Đã đạt giới hạn.",
    OUTCOME_UNKNOWN: "Thao tác bị gián đoạn. Hãy kiểm tra xem đã có hiệu lực chưa.",
    USAGE_LIMIT_REACHED: "Đã hết hạn mức sử dụng của ngày hoặc tháng. Vui lòng thử lại sau.",
    INTERACTION_CLOSED: "Yêu cầu này đã được quyết định hoặc đã hết hạn.",
    INTERACTION_MISMATCH: "Nội dung đã thay đổi. Hãy kiểm tra lại trước khi quyết định.",
  },
  other: (message) => `Chưa thực hiện được: ${message}`,
};
