/** The agent's texts in Vietnamese, the default language of the example. */
import type { Lines } from "./lines.ts";

export const vi: Lines = {
  locale: "vi",
  language: "Vietnamese",
  labels: {
    index: "Xem VN-Index và các mã lớn",
    price: (symbol) => `Xem giá ${symbol}`,
    articles: "Tìm tin tức thị trường phiên 25/03",
    movers: "Tìm cổ phiếu biến động mạnh",
    portfolio: (account) => (account === "long_term" ? "Xem danh mục dài hạn" : "Xem danh mục ngắn hạn"),
    portfolioTable: "Lập bảng danh mục ngắn hạn",
    chart: (symbol) => `Vẽ biểu đồ ${symbol}`,
    order: (symbol) => `Đặt lệnh ${symbol}`,
    scan: "Quét toàn thị trường",
    account: "Mở tài khoản",
    analyst: "Hỏi chuyên gia phân tích",
    ratios: (symbol) => `Tính P/E ${symbol} và so sánh ngành`,
    reports: (symbol) => `Đọc báo cáo về ${symbol}`,
  },
  found: {
    breadth: (up, down) => `${up} mã tăng, ${down} mã giảm`,
    noSuchStock: (symbol) => `Không có mã ${symbol}`,
    noPermission: "không có quyền",
    moverColumns: ["Mã", "Giá (VND)", "Thay đổi (%)"],
    holdingColumns: ["Mã", "Số lượng", "Giá (VND)", "Lãi/lỗ (VND)"],
    ordered: (order, count, symbol, price) =>
      `Lệnh ${order}: ${count} ${symbol}, giá tối đa ${price} VND, đã gửi lên sàn.`,
    scanned: (done, all, found) => `Đã quét ${done}/${all} mã, thấy ${found} mã đáng chú ý`,
    ratios: (pe, sectorPe, dividend) => `P/E ${pe} (ngành ${sectorPe}), cổ tức ${dividend}%`,
    stocks: (count) => `${count} mã`,
    articles: (count) => `${count} bài viết`,
    latest: [
      {
        title: "VN-Index giữ sắc xanh nhờ nhóm công nghệ",
        url: "https://press.example.com/vn-index-25-03",
        text: "VN-Index tăng 0,42% lên 1.284,6 điểm. Nhóm công nghệ dẫn dắt, FPT tăng 1,8%.",
      },
      {
        title: "Thanh khoản cao hơn trung bình 20 phiên",
        url: "https://press.example.com/thanh-khoan-25-03",
        text: "Giá trị khớp lệnh đạt 21.350 tỷ đồng, cao hơn 12% so với trung bình 20 phiên.",
      },
      {
        title: "Khối ngoại mua ròng phiên thứ ba liên tiếp",
        url: "https://press.example.com/khoi-ngoai-25-03",
        text: "Khối ngoại mua ròng 412 tỷ đồng, tập trung ở FPT, HPG và VCB.",
      },
    ],
    reports: [
      {
        title: "VNM: biên lợi nhuận hồi phục",
        url: "https://research.example.com/vnm-q4",
        text: "Biên lợi nhuận gộp quý 4 tăng 1,3 điểm phần trăm nhờ giá sữa bột giảm.",
      },
      {
        title: "Ngành sữa: tăng trưởng chậm, cổ tức đều",
        url: "https://research.example.com/nganh-sua",
        text: "Sản lượng toàn ngành tăng 2% một năm; các công ty lớn giữ cổ tức trên 5%.",
      },
    ],
  },
  titles: {
    movers: "Cổ phiếu biến động mạnh",
    portfolio: "Danh mục ngắn hạn",
    chart: (symbol) => `${symbol}, 7 phiên gần nhất`,
  },
  form: {
    title: "Mở tài khoản chứng khoán",
    description: "Dữ liệu chỉ dùng cho bản thử này.",
    name: "Họ và tên",
    email: "E-mail",
    phone: "Số điện thoại",
    birth: "Ngày sinh",
    experience: "Kinh nghiệm đầu tư",
    levels: ["Mới bắt đầu", "1–3 năm", "Trên 3 năm"],
    terms: "Tôi đồng ý với điều khoản",
  },
  script: {
    market: {
      think:
        "Người dùng hỏi về thị trường hôm nay. Mình cần chỉ số, vài mã lớn và tin tức trong phiên, rồi tóm tắt ngắn gọn.",
      first: "Để mình xem chỉ số và các mã lớn trước nhé.",
      second: "Chỉ số đang xanh. Mình tìm thêm tin tức để biết vì sao.",
      weigh: "Công nghệ kéo chỉ số, thanh khoản tốt, khối ngoại mua ròng. Đủ để trả lời.",
      answer: `Thị trường hôm nay **tích cực**:

- **VN-Index** đạt **1.284,6 điểm**, tăng 0,42%, nhờ nhóm công nghệ [^1].
- Thanh khoản **21.350 tỷ đồng**, cao hơn 12% so với trung bình 20 phiên [^2].
- Khối ngoại mua ròng **412 tỷ đồng**, phiên thứ ba liên tiếp [^3].

Riêng **VNM** giảm 1,2% còn **82.000 VND**. Bạn muốn mình xem kỹ mã nào không?`,
    },
    buy: {
      think: "Phải kiểm tra giá và danh mục trước. Đặt lệnh thì cần người dùng xác nhận.",
      first: "Để mình kiểm tra giá và danh mục của bạn trước nhé.",
      done: (result) =>
        `Xong rồi. ${result}\n\nGiá hiện tại là **82.000 VND**, dưới mức bạn đặt. Danh mục dài hạn mình không có quyền xem, nên chưa tính phần đó.`,
      rejected: "Mình **không đặt lệnh**. Giá VNM vẫn là 82.000 VND; khi nào muốn mua, bạn chỉ cần nhắn lại.",
    },
    portfolio: {
      question: "Bạn muốn xem tài khoản nào?",
      options: ["Ngắn hạn", "Dài hạn"],
      short: `Tài khoản ngắn hạn đang **lãi 2.480.000 VND**:

| Mã | Lãi/lỗ |
| --- | ---: |
| FPT | +3.460.000 |
| HPG | +550.000 |
| MWG | −1.530.000 |

FPT kéo cả danh mục; MWG là mã duy nhất lỗ.`,
      long: "Mình **không có quyền** xem tài khoản dài hạn. Bạn có thể cấp quyền trong phần cài đặt, hoặc hỏi lại về tài khoản ngắn hạn.",
    },
    chart: {
      first: "Mình vẽ ngay đây.",
      answer:
        "Trong 7 phiên, **VNM** đi từ 80.400 lên đỉnh **83.600** (23/03) rồi lùi về **82.000 VND**. Cả giai đoạn tăng **2,0%**.",
    },
    analyst: {
      first: "Mình nhờ chuyên gia phân tích xem giúp.",
      task: "Đánh giá VNM cho nhà đầu tư đang nắm giữ: định giá, cổ tức, rủi ro.",
      think: "Cần so sánh định giá với ngành và xem báo cáo gần nhất.",
      opinion:
        "VNM rẻ hơn ngành (P/E 16,4 so với 19,2), biên lợi nhuận đang hồi phục [^1] và cổ tức trên 5% [^2]. Rủi ro chính: ngành tăng trưởng chậm.",
      answer: `Theo chuyên gia, **nên giữ** VNM nếu bạn ưu tiên cổ tức:

1. **Định giá**: P/E 16,4, thấp hơn mức 19,2 của ngành.
2. **Lợi nhuận**: biên gộp quý 4 tăng 1,3 điểm phần trăm [^1].
3. **Cổ tức**: trên 5% mỗi năm, nhưng cả ngành tăng trưởng chậm [^2].

> Đây là dữ liệu minh hoạ, không phải lời khuyên đầu tư.`,
    },
    scan: {
      first: "Việc này mất khoảng một phút. Bạn có thể bấm **Dừng** bất cứ lúc nào.",
      answer:
        "Mình đã quét hết. Ba mã rẻ nhất so với ngành là **VNM**, **HPG** và **VCB**. Bạn muốn xem kỹ mã nào?",
    },
    forecast: {
      think: "Bắt đầu từ mức hiện tại của chỉ số.",
      answer:
        "Nếu thanh khoản giữ trên 20.000 tỷ, **VN-Index** có thể dao động quanh **1.275–1.300 điểm** tuần tới. Vùng 1.270 là hỗ trợ gần nhất.\n\n> Dự báo minh hoạ, đừng dựa vào đó để giao dịch.",
    },
    account: {
      first: "Mình cần vài thông tin để mở tài khoản cho bạn.",
      done: (name) =>
        `Cảm ơn **${name}**! Hồ sơ đã được gửi. Bạn sẽ nhận e-mail xác nhận trong ngày làm việc tới.`,
      declined: "Không sao. Khi nào muốn mở tài khoản, bạn chỉ cần nhắn lại.",
    },
    file: {
      think: "Có tệp đính kèm. Mình đọc nội dung rồi tóm tắt.",
      sample: `Sao kê tháng 3 có **8 giao dịch**:

- **Mua**: 3 lệnh, tổng **45.855.000 VND** (FPT, HPG, VNM)
- **Bán**: 2 lệnh, tổng **29.830.000 VND** (MWG, VCB)
- **Cổ tức**: 420.000 VND từ VNM
- **Phí và thuế**: 143.000 VND

Số dư cuối kỳ là **52.167.000 VND**.`,
      other: (lines, start) =>
        `Tệp có khoảng **${lines} dòng**, bắt đầu như sau:\n\n\`\`\`text\n${start}\n\`\`\`\n\nMình là mô hình kịch bản nên chỉ đọc được đến đây; hãy đặt \`ANTHROPIC_API_KEY\` hoặc \`OPENAI_API_KEY\` để có bản tóm tắt thật.`,
    },
    price: (symbol) => `Giá **${symbol}** ở trên là của phiên 25/03. Bạn muốn xem biểu đồ không?`,
    help: `Mình là **mô hình kịch bản** của bản thử này, nên chỉ biết vài việc:

- thị trường hôm nay, giá một mã (VNM, FPT, HPG, VCB, MWG)
- mua cổ phiếu, xem danh mục, vẽ biểu đồ
- hỏi chuyên gia, quét thị trường, dự báo
- mở tài khoản, tóm tắt tệp

Đặt \`ANTHROPIC_API_KEY\` hoặc \`OPENAI_API_KEY\` rồi khởi động lại để nói chuyện với mô hình thật.`,
  },
};
