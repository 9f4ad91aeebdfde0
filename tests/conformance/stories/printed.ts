/**
 * The frames that the source documents print for the turns of the stories, in their order: the same types and fields,
 * with our own texts and values. Parts that differ between runs are left out. Our frames can have more fields, and more
 * frames can be between them. See documents.test.ts.
 */
type Printed = Readonly<Record<string, unknown>>;

const block = (content_block: object, index?: number): Printed => ({
  type: "content_block_start",
  ...(index === undefined ? {} : { index }),
  content_block,
});
const stop = (more: object = {}): Printed => ({ type: "content_block_stop", ...more });
const delta = (inner: object): Printed => ({ type: "content_block_delta", delta: inner });

/** A complete turn of 000. Its `index` does not count group markers; ours does, as in 004. */
export const TURN_OF_000: readonly Printed[] = [
  { type: "message_start", display_mode: "agent" },
  block({ type: "thinking", thinking: "" }),
  delta({ type: "thinking_delta", thinking: "Trước hết xem giá VNM." }),
  stop(),
  block({
    type: "tool_use",
    id: "toolu_01",
    name: "search_stock",
    tool_use_id: "toolu_01",
    tool_content_message: "Tra cứu mã chứng khoán",
    input: { symbol: "VNM" },
  }),
  stop(),
  block({
    type: "tool_result",
    tool_use_id: "toolu_01",
    name: "search_stock",
    status: "success",
    content: "VNM 64,300 đồng (-1.2%)",
  }),
  stop(),
  block({ type: "text", text: "" }),
  delta({ type: "text_delta", text: "Giá **VNM** bây giờ là **64,300 đồng**, thấp hơn hôm qua 1.2%." }),
  stop({ is_final: true }),
  { type: "message_delta", delta: { stop_reason: "end_turn" } },
  { type: "message_stop" },
];

/** The files of a message in 000. */
export const FILES_OF_000: readonly Printed[] = [
  block(
    { type: "file_processing", status: "processing", files: [{ url: "https://example.com/ket-qua.pdf" }] },
    0,
  ),
  delta({ status: "completed", message: "Processed 1 file" }),
  stop({ index: 0 }),
];

const use = (id: string, symbol: string) => ({
  type: "tool_use",
  id,
  name: "search_stock",
  input: { symbol },
});

/** Two parallel calls of 003 with their indexes, and the chart. */
export const CALLS_OF_003: readonly Printed[] = [
  block(use("toolu_01", "VNM"), 1),
  stop({ index: 1 }),
  block(use("toolu_02", "HPG"), 2),
  stop({ index: 2 }),
  block({ type: "tool_result", tool_use_id: "toolu_01", content: "VNM 64,300 đồng", status: "success" }, 3),
  stop({ index: 3 }),
  block({ type: "tool_result", tool_use_id: "toolu_02", content: "HPG 31,700 đồng", status: "success" }, 4),
  stop({ index: 4 }),
  block({
    type: "tool_result",
    content: "Biểu đồ đã vẽ xong",
    status: "success",
    artifact: { type: "chart", data: { labels: ["10h", "11h", "12h"], values: [64300, 63900, 65100] } },
  }),
];

/** A label, an error and a cancelled result of 003; the block of a stop in 000, after which the turn ends. */
export const STOP_OF_003: readonly Printed[] = [
  block({ ...use("toolu_01", "VNM"), tool_content_message: "Tra cứu mã chứng khoán VNM" }),
  block({
    type: "tool_result",
    tool_name: "search_stock",
    content: "Lookup of VNM failed: the exchange did not respond",
    status: "error",
    artifact: null,
  }),
  block({ type: "tool_result", tool_name: "search_stock", content: "", status: "cancelled", artifact: null }),
  block({ type: "text", text: "" }),
  delta({
    type: "text_delta",
    text: "Bạn đã dừng câu trả lời. Hãy gửi tin nhắn khác để tiếp tục.",
    extras: { block_subtype: "user_stopped" },
  }),
  { type: "message_stop" },
];

/** Text outside groups in 004, a group with its summary, a group with only thinking, a label made from a name. */
export const GROUPS_OF_004: readonly Printed[] = [
  { type: "group_start" },
  block({ type: "thinking" }),
  { type: "group_end", summary: "Suy nghĩ" },
  block({ type: "text", is_part: true }),
  delta({ text: "Chào bạn! Mình xem số liệu mới nhất." }),
  { type: "group_start" },
  block({
    type: "tool_use",
    id: "tc-1",
    name: "write_todos",
    tool_content_message: "Chọn các bước cần làm",
  }),
  block({
    type: "tool_use",
    id: "tc-2",
    name: "analyze_price",
    tool_content_message: "Xem xét giá VNINDEX",
  }),
  block({ type: "tool_result", tool_use_id: "tc-1", tool_content_message: "Chọn các bước cần làm" }),
  block({ type: "tool_result", tool_use_id: "tc-2", tool_content_message: "Xem xét giá VNINDEX" }),
  { type: "group_end", summary: "Xem xét giá VNINDEX" },
  block({ type: "text", is_part: true }),
  delta({ text: "Mình xem lại số liệu..." }),
  { type: "group_start" },
  block({ type: "tool_use", name: "web_search", tool_content_message: "Web search" }),
  { type: "group_end" },
  delta({ text: "Chỉ số VNINDEX tăng 1.84% trong phiên..." }),
  stop({ is_final: true }),
];

/** An approval of 004 is in the group of its call, and its result precedes the tool's result. */
export const APPROVAL_OF_004: readonly Printed[] = [
  { type: "group_start" },
  block({ type: "tool_use" }),
  block({ type: "approval_request" }),
  { type: "approval_result" },
  block({ type: "tool_result" }),
  { type: "group_end" },
];

/** A question of 004 is outside of groups, and the next call opens a new group. */
export const QUESTION_OF_004: readonly Printed[] = [
  { type: "group_start" },
  block({ type: "tool_use" }),
  block({ type: "tool_result" }),
  { type: "group_end" },
  block({ type: "approval_request" }),
  delta({ action_requests: [{ name: "ask_user_question" }] }),
  { type: "group_start" },
  block({ type: "tool_use" }),
  block({ type: "tool_result" }),
  { type: "group_end" },
];

const SUB = { task_id: "call_1234xyz" };
const ARGS = '{"location":"Paris (FR)"}';
const SKY = '{"temperature":"17C","condition":"clear"}';
const THOUGHT = "The question is about Paris today.\n\nThe tool get_weather has the answer.";
const CALLED = { type: "tool_call", name: "get_weather" };
const ANSWER = "Paris has a clear sky, and the air is mild for the date.";

/**
 * The stream of a sub-agent in 001, inside the container of its result, with its indexes. 001 has two summaries; we
 * send one, as DIALECTS.md defines. The ids of references and the citation are below.
 */
export const SUB_AGENT_OF_001: readonly Printed[] = [
  { type: "task.output_item.added", item: { type: "tool_result", call_id: "call_1234xyz", block_list: [] } },
  { type: "task.output_item.added", ...SUB, output_index: 0, item: { type: "reasoning", summary: [] } },
  {
    type: "task.reasoning_summary_item.added",
    ...SUB,
    output_index: 0,
    summary_index: 0,
    item: { type: "text", text: "" },
  },
  { type: "task.reasoning_summary_text.delta", ...SUB, output_index: 0, summary_index: 0, delta: THOUGHT },
  {
    type: "task.reasoning_summary_item.done",
    ...SUB,
    output_index: 0,
    summary_index: 0,
    item: { type: "text", text: THOUGHT },
  },
  { type: "task.output_item.done", ...SUB, output_index: 0, item: { type: "reasoning" } },
  { type: "task.output_item.added", ...SUB, output_index: 1, item: { ...CALLED, arguments: "" } },
  { type: "task.tool_call_arguments.delta", ...SUB, output_index: 1, delta: ARGS },
  { type: "task.tool_call_arguments.done", ...SUB, output_index: 1, arguments: ARGS },
  { type: "task.output_item.done", ...SUB, output_index: 1, item: { ...CALLED, arguments: ARGS } },
  { type: "task.output_item.added", ...SUB, output_index: 2, item: { type: "tool_result", block_list: [] } },
  { type: "task.text.done", ...SUB, output_index: 2, block_index: 0, item: { type: "text", text: SKY } },
  {
    type: "task.image.added",
    ...SUB,
    output_index: 2,
    block_index: 1,
    item: { type: "image", image_url: { url: "" } },
  },
  { type: "task.image.delta", ...SUB, output_index: 2, block_index: 1, partial_image_index: 0 },
  { type: "task.image.delta", ...SUB, output_index: 2, block_index: 1, partial_image_index: 1 },
  { type: "task.image.done", ...SUB, output_index: 2, block_index: 1, item: { type: "image" } },
  {
    type: "task.output_item.done",
    ...SUB,
    output_index: 2,
    item: { type: "tool_result", block_list: [{ type: "text", text: SKY }, { type: "image" }] },
  },
  {
    type: "task.output_item.added",
    ...SUB,
    output_index: 3,
    item: { type: "message", role: "assistant", block_list: [] },
  },
  { type: "task.text.done", ...SUB, output_index: 3, block_index: 0, item: { type: "text", text: ANSWER } },
  {
    type: "task.output_item.done",
    ...SUB,
    output_index: 3,
    item: { type: "message", role: "assistant", block_list: [{ type: "text", text: ANSWER }] },
  },
  {
    type: "task.output_item.done",
    item: { type: "tool_result", call_id: "call_1234xyz", status: "completed" },
  },
  { type: "task.output_item.added", item: { type: "message", role: "assistant", block_list: [] } },
];

const CITED = `${ANSWER}[^1]`;
/** 001 prints 44 and 47, but this is the position of the marker. */
const CITATION = { type: "reference_to_block", reference_id: 1, start_index: 56, end_index: 60 };
const SUNNY = { type: "text", text: SKY, id: 1 };
const PAINTED = {
  type: "image",
  image_url: { url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA" },
  id: 1,
};

/** The citable result of 001 with its picture, and both answers that cite it. */
export const CITATIONS_OF_001: readonly Printed[] = [
  { type: "task.text.done", ...SUB, output_index: 2, block_index: 0, item: SUNNY },
  {
    type: "task.image.added",
    ...SUB,
    output_index: 2,
    block_index: 1,
    item: { type: "image", image_url: { url: "" }, id: 1 },
  },
  { type: "task.image.done", ...SUB, output_index: 2, block_index: 1, item: PAINTED },
  {
    type: "task.output_item.done",
    ...SUB,
    output_index: 2,
    item: { type: "tool_result", block_list: [SUNNY, PAINTED] },
  },
  {
    type: "task.text.done",
    ...SUB,
    output_index: 3,
    block_index: 0,
    item: { type: "text", text: CITED, annotations: [CITATION] },
  },
  {
    type: "task.output_item.done",
    item: { type: "message", role: "assistant", block_list: [{ text: CITED, annotations: [CITATION] }] },
  },
  { type: "task.text.done", block_index: 0, item: { type: "text", text: CITED, annotations: [CITATION] } },
];

/** A form of 002, after which the stream ends. Its ids are left out, because they differ between runs. */
export const FORM_OF_002: readonly Printed[] = [
  {
    type: "response.interaction_request",
    interaction_type: "form",
    form_schema: {
      id: "contact_form",
      title: "How to reach you",
      fields: [{ name: "email", label: "Email", type: "shortText", required: true }],
    },
  },
  { type: "[DONE]" },
];
