/**
 * `orderStory` builds the six stories of an order: a price is looked up, and the order waits for approval inside its
 * group. After the order is placed, a question is asked outside of groups, and the next step opens a new group. Data
 * only.
 */
import type { Choice, Part, Story } from "../story.ts";

const WAITS = "approval.request tc-2";
const ASKS = "question.request q-1";

const BEFORE: readonly (readonly Part[])[] = [
  [
    { think: "Cần xem giá trước khi đặt lệnh." },
    { call: "analyze_price", id: "tc-1", input: { symbol: "VNM" } },
  ],
  [{ call: "place_order", id: "tc-2", input: { symbol: "VNM", quantity: 100 } }],
];

const QUESTIONS = [
  { question: "Báo cho bạn khi giá lên mức nào?", options: ["85,000", "90,000"] },
  { question: "Báo qua đâu?", options: ["Email", "Điện thoại"], multiple: true },
];

const PLACED: readonly (readonly Part[])[] = [
  [{ call: "ask_user_question", id: "q-1", input: { questions: QUESTIONS } }],
  [{ call: "set_alert", id: "tc-3", input: { symbol: "VNM" } }],
  [{ text: "Lệnh mua đã vào sàn, và mình sẽ báo khi giá lên 90,000." }],
];

const NOT_PLACED: readonly (readonly Part[])[] = [[{ text: "Mình chưa đặt lệnh nào." }]];

const ANSWERED: Choice = {
  answers: [
    { question: "q1", selected: ["o2"] },
    { question: "q2", selected: ["o1", "o2"], text: "sau 9 giờ" },
  ],
};

interface Variant {
  readonly name: string;
  /** The decision on the order; null if there is none. */
  readonly choice: Choice | null;
  readonly isPlaced: boolean;
  /** The answers of the model after an order that is not placed. */
  readonly plan?: readonly (readonly Part[])[];
  readonly timeoutMs?: number;
  readonly isStopped?: boolean;
}

export function orderStory(variant: Variant): Story {
  const { name, choice, isPlaced, plan = NOT_PLACED, timeoutMs, isStopped = false } = variant;
  const asks = { editable: true, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  return {
    name: `market-order-${name}`,
    source: "004",
    ask: "Mua 100 cổ phiếu VNM giúp mình",
    agent: {
      name: `order-agent-${name}`,
      model: "model-004",
      asksUser: true,
      approvals: { place_order: asks },
      tools: {
        analyze_price: "Xem xét giá",
        place_order: "Đặt lệnh mua",
        set_alert: "Đặt cảnh báo giá",
      },
      answers: [...BEFORE, ...(isPlaced ? PLACED : plan)],
    },
    outcomes: {
      "tc-1": { gives: "VNM 64,300 đồng" },
      "tc-2": { gives: "Đã đặt lệnh mua {quantity} VNM" },
      "tc-3": { gives: "Sẽ báo khi VNM lên 90,000" },
    },
    choices: {
      ...(choice === null ? {} : { [WAITS]: choice }),
      ...(isPlaced ? { [ASKS]: ANSWERED } : {}),
    },
    ...(isStopped ? { stopAt: WAITS } : {}),
    reloadAt: isStopped
      ? ["thinking.delta main", "tool_result.end tc-1", WAITS]
      : ["thinking.delta main", WAITS, isPlaced ? ASKS : "text.delta main"],
  };
}
