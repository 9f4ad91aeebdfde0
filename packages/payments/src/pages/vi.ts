/**
 * `vi` are the Vietnamese texts of the payment pages.
 * Invariant: they mean the same as the texts of `en.ts`.
 */
import { countText } from "@turnstream/protocol";
import type { PageStrings } from "./en.ts";

export const vi: PageStrings = {
  locale: "vi",
  amount: "Số tiền",
  order: "Mã đơn hàng",
  continueButton: "Tiếp tục thanh toán",
  checkout: { title: "Thanh toán", text: "Trang thanh toán của đối tác thanh toán sẽ được mở." },
  leaving: { title: "Đang mở trang thanh toán", text: "Nếu không có gì xảy ra, hãy bấm nút bên dưới." },
  statuses: {
    pending: { title: "Chưa thanh toán", text: "Khoản thanh toán này chưa được bắt đầu." },
    processing: {
      title: "Đang chờ xác nhận",
      text: "Khoản thanh toán chưa được xác nhận. Trang này tự cập nhật. Bạn cũng có thể đóng trang: kết quả sẽ hiện trong cuộc trò chuyện.",
    },
    succeeded: { title: "Đã nhận thanh toán", text: "Cảm ơn bạn. Thanh toán đã thành công." },
    failed: { title: "Thanh toán không thành công", text: "Khoản thanh toán này không thành công." },
    cancelled: {
      title: "Đã hủy thanh toán",
      text: "Khoản thanh toán này đã bị hủy và không thể thanh toán nữa.",
    },
    expired: {
      title: "Thanh toán đã hết hạn",
      text: "Khoản thanh toán này không được hoàn tất kịp thời và không thể thanh toán nữa.",
    },
  },
  closePage: "Bạn có thể đóng trang này và quay lại cuộc trò chuyện.",
  refunded: "Đã hoàn tiền",
  lateSuccess:
    "Chúng tôi đã nhận được tiền sau khi khoản thanh toán này kết thúc. Nhân viên sẽ kiểm tra. Vui lòng không thanh toán lại.",
  minutesLeft: countText("vi", { other: "Còn # phút để thanh toán" }),
  notFound: {
    title: "Không tìm thấy khoản thanh toán",
    text: "Liên kết không đầy đủ, hoặc khoản thanh toán không còn tồn tại. Vui lòng mở lại từ cuộc trò chuyện.",
  },
  unavailable: {
    title: "Hiện không khả dụng",
    text: "Hiện không thể mở trang thanh toán. Vui lòng thử lại sau một phút.",
  },
  tryAgain: "Thử lại",
};
