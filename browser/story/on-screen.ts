/**
 * `ON_SCREEN` lists what a user reads at the end of each story with everything expanded. It is written by hand from the
 * stories.
 */
const STOPPED = "stopped: Người dùng đã dừng cuộc trò chuyện. Gửi tin nhắn mới để tiếp tục";

const STOCK = [
  "you: Giá cổ phiếu VNM hôm nay?",
  "group: Tìm kiếm cổ phiếu",
  "thought: Cần tra giá VNM trước.",
  "done: Tìm kiếm cổ phiếu",
];

const PARIS = [
  "you: What is the weather in Paris?",
  "group: Get local time",
  "thought: Thinking about the weather in Paris. Decided to call ask_for_help function.",
];
const HELP = "An agent that provides weather information.";
const HELPER = "thought: Thinking about the weather in Paris. Decided to call get_weather function.";
const SUNNY = "text: The weather in Paris is sunny with a temperature of 15C.";
// The number in the text, and the list of sources below it.
const CITED = `${SUNNY}1 1 Source 1`;

const ORDER = [
  "you: Mua 100 cổ phiếu VNM giúp mình",
  "group: Đặt lệnh mua",
  "thought: Cần xem giá trước khi đặt lệnh.",
  "done: Phân tích giá",
];
const ASKED = "approval: Allow “Đặt lệnh mua”? / Symbol / VNM / Quantity";
const PLACED = [
  "question: Question / Báo cho bạn khi giá lên mức nào? / 90,000 / Báo qua đâu? / Email, Điện thoại, sau 9 giờ / Answered",
  "group: Đặt cảnh báo giá",
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
  "vnm-stock": [...STOCK, "text: Cổ phiếu VNM đang giao dịch ở 82,000 VND, giảm 1.2%."],
  "vnm-error": [...STOCK, "error: Đã xảy ra lỗi. Vui lòng thử lại."],
  "two-tools": [
    "you: So sánh VNM và HPG",
    "group: Tìm kiếm cổ phiếu HPG",
    "done: Tìm kiếm cổ phiếu VNM",
    "done: Tìm kiếm cổ phiếu HPG",
    "text: Để mình vẽ biểu đồ.",
    "group: Create chart",
    "done: Create chart",
    "artifact: charttable",
    "text: VNM: 82,000 VND, HPG: 28,500 VND.",
  ],
  // One has failed and the other was cancelled: both have a red dot (U02).
  "two-tools-stopped": [
    "you: So sánh VNM và HPG",
    "group: Tìm kiếm cổ phiếu HPG",
    "error: Tìm kiếm cổ phiếu VNM",
    "error: Tìm kiếm cổ phiếu HPG",
    STOPPED,
  ],
  "market-overview": [
    "you: thị trường hôm nay",
    "group: Suy nghĩ",
    "thought: Người dùng hỏi về thị trường.",
    "text: Chào Thảo! Chờ mình cập nhật nhé.",
    "group: Phân tích giá VNINDEX",
    "done: Lập kế hoạch phân tích",
    "done: Phân tích giá VNINDEX",
    "text: Để mình kiểm tra...",
    "group: Web search",
    "done: Lấy dữ liệu giá và thanh khoản",
    "done: Web search",
    "thought: Đủ dữ liệu để trả lời.",
    "text: VNINDEX hôm nay tăng 2.69%...",
  ],
  "market-order-approved": [...ORDER, "done: Đặt lệnh mua", `${ASKED} / 100 / Approved`, ...PLACED],
  "market-order-edited": [...ORDER, "done: Đặt lệnh mua", `${ASKED} / 50 / Approved with changes`, ...PLACED],
  "market-order-rejected": [
    ...ORDER,
    "error: Đặt lệnh mua",
    `${ASKED} / 100 / Rejected Reason: Giá còn cao.`,
    NOT_PLACED,
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
    "form: Contact Info / Email / an@example.org / Submitted",
    "text: 收到,我們會寫信到 an@example.org。",
  ],
  "contact-form-declined": [
    ...CONTACT,
    "form: Contact Info / Declined Reason: 不想留資料",
    "text: 好的,不用填表。",
  ],
  "files-report": [
    "you: Tóm tắt báo cáo này.",
    "file: bao-cao.pdf",
    "files: done Read a file Processed 1 file",
    "group: Suy nghĩ",
    "thought: Báo cáo có hai trang.",
    "text: Doanh thu quý 3 là 15.300 tỷ đồng, tăng 4%.",
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
