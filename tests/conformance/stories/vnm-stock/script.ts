/** The complete turn of 000: a thought, one tool call, its result, the answer. Data only. */
import type { Story } from "../story.ts";

export const vnmStock: Story = {
  name: "vnm-stock",
  source: "000",
  ask: "Giá cổ phiếu VNM hôm nay?",
  agent: {
    name: "stock-agent",
    model: "model-000",
    hasTitle: true,
    tools: { search_stock: "Tra cứu mã chứng khoán" },
    answers: [
      [
        { think: "Trước hết xem giá VNM." },
        { call: "search_stock", id: "toolu_01", input: { symbol: "VNM" } },
      ],
      [{ text: "Giá **VNM** bây giờ là **64,300 đồng**, thấp hơn hôm qua 1.2%." }],
    ],
  },
  outcomes: { toolu_01: { gives: "VNM 64,300 đồng (-1.2%)", after: "tool_result.start toolu_01" } },
  reloadAt: ["thinking.delta main", "tool_result.start toolu_01", "text.delta main"],
};
