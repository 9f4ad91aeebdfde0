/**
 * `cards` are the Vietnamese strings of cards and content.
 * Invariant: the type `CardStrings` requires every key of the English strings.
 */
import { countText } from "@turnstream/protocol";
import type { ApprovalStrings, CardStrings, FieldProblemString, PaymentStrings } from "../strings.ts";

export const cards: CardStrings = {
  send: "Gửi",
  sending: "Đang gửi…",
  cancel: "Huỷ",
  required: "bắt buộc",
  timeLeft: (clock) => `còn ${clock}`,
  secondsLeft: countText("vi", { other: "Còn # giây để trả lời." }),
  reason: "Lý do (không bắt buộc)",
  reasonGiven: (reason) => `Lý do: ${reason}`,
  yes: "Có",
  no: "Không",
  none: "–",

  approvalTitle: (action) => `Cho phép “${action}”?`,
  approve: "Xác nhận",
  approveAlways: "Luôn cho phép",
  edit: "Chỉnh sửa",
  reject: "Từ chối",
  approveEdited: "Xác nhận với thay đổi",
  confirmReject: "Từ chối",
  noArguments: "Không có tham số",
  asJson: "Tham số dạng JSON",
  notJson: "Đây không phải là một đối tượng JSON hợp lệ.",
  notNumber: "Đây không phải là số.",
  approvalKeys: "Nhấn Y để xác nhận, E để chỉnh sửa, N để từ chối.",
  approved: (who) => (who === "" ? "Đã xác nhận" : `${who} đã xác nhận`),
  approvedForGood: "cho cả cuộc trò chuyện này",
  edited: (who) => (who === "" ? "Đã xác nhận với thay đổi" : `${who} đã xác nhận với thay đổi`),
  rejected: (who) => (who === "" ? "Đã từ chối" : `${who} đã từ chối`),
  timedOut: "Không được trả lời kịp thời",
  withdrawn: "Không còn cần nữa",

  question: "Câu hỏi",
  answer: "Trả lời",
  skip: "Bỏ qua",
  freeText: "Câu trả lời của bạn",
  chooseAny: "Có thể chọn nhiều mục",
  answered: (who) => (who === "" ? "Đã trả lời" : `${who} đã trả lời`),
  answeredByMessage: "Đã trả lời bằng tin nhắn",
  dismissed: (who) => (who === "" ? "Đã bỏ qua" : `${who} đã bỏ qua`),

  submit: "Gửi",
  decline: "Không điền",
  choose: "Chọn…",
  chooseFile: "Chọn tệp",
  removeFile: (name) => `Gỡ ${name}`,
  uploading: (percent) => `Đang tải lên, ${percent}`,
  uploadFailed: "Không tải tệp lên được.",
  draftSaved: "Đã lưu nháp",
  submitted: (who) => (who === "" ? "Đã gửi" : `${who} đã gửi`),
  declined: (who) => (who === "" ? "Đã từ chối điền" : `${who} đã từ chối điền`),
  expired: "Đã hết hạn",
  fixFields: countText("vi", { other: "Hãy kiểm tra # mục." }),

  payment: "Thanh toán",
  paymentStatus: {
    pending: "chờ thanh toán",
    processing: "đang xử lý",
    succeeded: "đã thanh toán",
    failed: "không thành công",
    cancelled: "đã huỷ",
    expired: "đã hết hạn",
  },

  readingFiles: countText("vi", { other: "Đang đọc # tệp" }),
  filesRead: countText("vi", { other: "Đã đọc # tệp" }),
  filesFailed: "Có tệp không đọc được",
  fileStatus: { processing: "đang đọc", completed: "đã đọc", failed: "không đọc được" },
  file: "Tệp",

  chart: "Biểu đồ",
  table: "Bảng",
  showChart: "biểu đồ",
  showTable: "bảng",
  image: "Hình ảnh",
  label: "Nhãn",
  value: "Giá trị",
  rowsOf: (shown, total) => `${shown} trên ${total} dòng`,
  download: "Tải xuống",
  downloadAll: "Tải xuống toàn bộ",
  cannotShow: "Không hiển thị được nội dung này.",
  data: "Dữ liệu",

  code: (language) => (language === "" ? "Mã nguồn" : `Mã nguồn, ${language}`),
  copy: "Sao chép",
  copied: "Đã sao chép",
  leavesFor: (host) => `Liên kết này dẫn đến ${host}`,
  openLink: "Mở",
  openAt: (host) => `Mở ${host}`,
  imageFrom: (host) => `Hình ảnh từ ${host}`,
  loadImage: "Tải",
  noImage: "Không hiển thị được hình ảnh này",
  source: (number, title) => (title === "" ? `Nguồn ${number}` : `Nguồn ${number}: ${title}`),
  sources: "Nguồn",
  sourceMissing: "Nguồn này không còn nữa.",
  wrap: "Xuống dòng",
};

export const fieldProblem: FieldProblemString = ({ problem }, { min, max }) =>
  ({
    required: "Mục này là bắt buộc.",
    wrong_type: "Giá trị này không hợp lệ ở đây.",
    too_short: `Ít nhất ${min} ký tự.`,
    too_long: `Nhiều nhất ${max} ký tự.`,
    too_small: `Không nhỏ hơn ${min}.`,
    too_large: `Không lớn hơn ${max}.`,
    too_few: `Chọn ít nhất ${min} mục.`,
    too_many: `Chọn nhiều nhất ${max} mục.`,
    not_an_option: "Hãy chọn một trong các lựa chọn.",
    chosen_twice: "Chỉ chọn mỗi lựa chọn một lần.",
    not_an_email: "Hãy nhập địa chỉ email, ví dụ an@example.org.",
    not_a_phone: "Hãy nhập số điện thoại, ví dụ 090 123 4567.",
    not_a_date: "Hãy nhập một ngày có tồn tại.",
    not_uploaded: "Hãy tải tệp lên lại.",
    unknown_field: "Biểu mẫu không có mục này.",
    not_an_object: "Không gửi được nội dung này.",
  })[problem];

export const approvals: ApprovalStrings = {
  tool: (name) => `Công cụ: ${name}`,
  server: (name) => `Máy chủ: ${name}`,
  title: (title) => `Máy chủ gọi công cụ này là “${title}”.`,
  openFirst: "Hãy mở toàn bộ tham số trước khi xác nhận.",
  unavailable: "Không thể hiển thị toàn bộ tham số, nên không thể xác nhận.",
};

export const payments: PaymentStrings = {
  pay: "Thanh toán",
  continueCheckout: "Tiếp tục thanh toán",
  refresh: "Làm mới",
  isCurrent: "Trạng thái đã là mới nhất.",
  order: (orderNo) => `Đơn hàng ${orderNo}`,
  secondsLeft: countText("vi", { other: "Còn # giây để thanh toán." }),

  cancel: "Huỷ",
  confirmCancel: "Huỷ khoản thanh toán này?",
  cancelPayment: "Huỷ thanh toán",
  keepPayment: "Giữ lại",

  outcome: {
    succeeded: "Đã nhận được khoản thanh toán.",
    failed: "Thanh toán không thành công.",
    cancelled: (who) => (who === "" ? "Khoản thanh toán đã bị huỷ." : `${who} đã huỷ khoản thanh toán.`),
    expired: "Khoản thanh toán không được hoàn tất đúng hạn.",
  },
};
