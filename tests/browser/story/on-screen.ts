/**
 * `ON_SCREEN` lists what a user reads at the end of each story with everything expanded. It is written by hand from the
 * stories. A group with one entry has no header of its own.
 */
// The page shows its own text for a notice of the worker, not the text of the document.
const STOPPED = "stopped: You stopped this. Send a new message to continue.";

const STOCK = [
  "you: Giá cổ phiếu VNM hôm nay?",
  "group: Tra cứu mã chứng khoán",
  "thought: Trước hết xem giá VNM.",
  "done: Tra cứu mã chứng khoán",
];

const PARIS = [
  "you: What is the weather in Paris?",
  "group: Get local time",
  "thought: The question is about Paris today. The weather agent can find it out.",
];
const HELP = "Answers questions about the weather.";
const HELPER = "thought: The question is about Paris today. The tool get_weather has the answer.";
const SUNNY = "text: Paris has a clear sky, and the air is mild for the date.";
// The number in the text, and the list of sources below it.
const CITED = `${SUNNY}1 1 Source 1`;

const ORDER = [
  "you: Mua 100 cổ phiếu VNM giúp mình",
  "group: Đặt lệnh mua",
  "thought: Cần xem giá trước khi đặt lệnh.",
  "done: Xem xét giá",
];
const ASKED = "approval: Allow “Đặt lệnh mua”? / Symbol / VNM / Quantity";
const PLACED = [
  "question: Question / Báo cho bạn khi giá lên mức nào? / 90,000 / Báo qua đâu? / Email, Điện thoại, sau 9 giờ / Answered",
  "done: Đặt cảnh báo giá",
  "text: Lệnh mua đã vào sàn, và mình sẽ báo khi giá lên 90,000.",
];
const NOT_PLACED = "text: Mình chưa đặt lệnh nào.";

const CONTACT = [
  "you: 請你們跟我聯絡",
  "group: 查詢營業時間",
  "thought: 需要對方的 Email。",
  "done: 查詢營業時間",
];

export const ON_SCREEN: Readonly<Record<string, readonly string[]>> = {
  "vnm-stock": [...STOCK, "text: Giá VNM bây giờ là 64,300 đồng, thấp hơn hôm qua 1.2%."],
  "vnm-error": [...STOCK, "error: The model could not answer. Try again."],
  "two-tools": [
    "you: So sánh VNM và HPG",
    "group: Tra cứu mã chứng khoán HPG",
    "done: Tra cứu mã chứng khoán VNM",
    "done: Tra cứu mã chứng khoán HPG",
    "text: Để mình vẽ biểu đồ.",
    "done: Create chart",
    "artifact: charttable",
    "text: VNM 64,300 đồng, HPG 31,700 đồng.",
  ],
  // One has failed and the other was cancelled: both have a red dot (U02).
  "two-tools-stopped": [
    "you: So sánh VNM và HPG",
    "group: Tra cứu mã chứng khoán HPG",
    "error: Tra cứu mã chứng khoán VNM",
    "error: Tra cứu mã chứng khoán HPG",
    STOPPED,
  ],
  "market-overview": [
    "you: tổng quan thị trường",
    "thought: Người dùng hỏi về thị trường.",
    "text: Chào bạn! Mình xem số liệu mới nhất.",
    "group: Xem xét giá VNINDEX",
    "done: Chọn các bước cần làm",
    "done: Xem xét giá VNINDEX",
    "text: Mình xem lại số liệu...",
    "group: Web search",
    "done: Tải giá và khối lượng giao dịch",
    "done: Web search",
    "thought: Đủ dữ liệu để trả lời.",
    "text: Chỉ số VNINDEX tăng 1.84% trong phiên...",
  ],
  "market-thought": [
    "you: VNINDEX hôm nay thế nào?",
    "thought: Cần giá và tin tức.",
    "text: Mình xem lại số liệu...",
    "group: Web search",
    "done: Xem xét giá VNINDEX",
    "done: Web search",
    "text: Mình có đủ số liệu rồi.",
    "text: VNINDEX tăng 1.84%.",
  ],
  "market-order-approved": [...ORDER, "done: Đặt lệnh mua", `${ASKED} / 100 / Approved`, ...PLACED],
  "market-order-edited": [...ORDER, "done: Đặt lệnh mua", `${ASKED} / 50 / Approved with changes`, ...PLACED],
  "market-order-rejected": [
    ...ORDER,
    "error: Đặt lệnh mua",
    `${ASKED} / 100 / Rejected Reason: Giá còn cao.`,
    NOT_PLACED,
  ],
  "market-order-replanned": [
    ...ORDER,
    "error: Đặt lệnh mua",
    `${ASKED} / 100 / Rejected Reason: Giá còn cao.`,
    "group: Đặt cảnh báo giá",
    "thought: Đặt cảnh báo thay cho lệnh mua.",
    "done: Đặt cảnh báo giá",
    "text: Mình chưa mua, và sẽ báo khi giá đổi.",
  ],
  "market-order-timed-out": [
    ...ORDER,
    "error: Đặt lệnh mua",
    `${ASKED} / 100 / Not answered in time`,
    NOT_PLACED,
  ],
  "market-order-stopped": [...ORDER, "error: Đặt lệnh mua", `${ASKED} / 100 / No longer needed`, STOPPED],
  "contact-form": [
    ...CONTACT,
    "form: How to reach you / Email / an@example.org / Submitted",
    "text: 收到,我們會寫信到 an@example.org。",
  ],
  "contact-form-declined": [
    ...CONTACT,
    "form: How to reach you / Declined Reason: 不想留資料",
    "text: 好的,不用填表。",
  ],
  "files-report": [
    "you: Tóm tắt báo cáo này.",
    "file: ket-qua.pdf",
    "files: done Read a file Processed 1 file",
    "thought: Báo cáo có hai trang.",
    "text: Doanh thu quý 3 là 15.300 tỷ đồng, tăng 4%.",
  ],
  "chat-mode": [
    "you: Giá cổ phiếu VNM hôm nay?",
    "done: Tra cứu mã chứng khoán",
    "text: Giá VNM bây giờ là 64,300 đồng, thấp hơn hôm qua 1.2%.",
  ],
  "photo-question": [
    "you: Which bird is this?",
    "file: bird.png",
    "files: done Read a file Processed 1 file",
    "group: Zoom in",
    "thought: The beak decides.",
    "done: Zoom in",
    "text: It is a grey heron.",
  ],
  "paris-weather": [
    ...PARIS,
    `done: ${HELP}`,
    HELPER,
    "done: Get weather",
    SUNNY,
    "done: Get local time",
    SUNNY,
  ],
  "paris-weather-stopped": [
    ...PARIS,
    `error: ${HELP}`,
    HELPER,
    "error: Get weather",
    "done: Get local time",
    STOPPED,
  ],
  "paris-citations": [
    ...PARIS,
    `done: ${HELP}`,
    HELPER,
    "done: Get weather",
    CITED,
    "done: Get local time",
    CITED,
  ],
};
