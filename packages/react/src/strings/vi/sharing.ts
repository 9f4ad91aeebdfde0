/**
 * `sharing` are the Vietnamese strings of the share dialog and of the page of a shared conversation.
 * Invariant: every key of the English strings has a text here.
 */
import type { SharingStrings } from "../strings.ts";

export const sharing: SharingStrings = {
  title: "Chia sẻ cuộc trò chuyện này",
  explanation:
    "Bất kỳ ai có liên kết đều đọc được cuộc trò chuyện như hiện tại. Các tin nhắn sau này không được chia sẻ.",
  close: "Đóng",

  expiry: "Liên kết có hiệu lực",
  expiryChoices: {
    day: "trong 1 ngày",
    week: "trong 7 ngày",
    month: "trong 30 ngày",
    never: "đến khi bạn thu hồi",
  },
  create: "Tạo liên kết",
  created: "Đã tạo liên kết.",

  links: "Các liên kết đến cuộc trò chuyện này",
  noLinks: "Chưa có liên kết nào.",
  loading: "Đang tải…",
  moreLinks: "Hiện thêm liên kết",
  link: "Liên kết",
  createdOn: (date) => `Tạo ngày ${date}`,
  expiresOn: (date) => `Có hiệu lực đến ${date}`,
  neverExpires: "Có hiệu lực đến khi bạn thu hồi",

  copy: "Sao chép",
  copied: "Đã sao chép",
  copyFailed: "Không sao chép được liên kết. Hãy chọn và tự sao chép.",

  revoke: "Thu hồi",
  revokeQuestion: "Liên kết này sẽ ngừng hoạt động ngay với tất cả mọi người.",
  revokeConfirm: "Thu hồi liên kết",
  cancel: "Hủy",
  revoked: "Đã thu hồi liên kết.",

  shared: "Cuộc trò chuyện được chia sẻ",
  sharedOn: (date) => `Nội dung tại ngày ${date}. Bạn có thể đọc nhưng không thể viết vào đây.`,
  continueOwn: "Tiếp tục trong cuộc trò chuyện của tôi",
  notFound: "Liên kết này không hoạt động. Liên kết đã bị thu hồi, đã hết hạn hoặc không đầy đủ.",
};
