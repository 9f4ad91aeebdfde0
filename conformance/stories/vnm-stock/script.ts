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
    tools: { search_stock: "Tìm kiếm cổ phiếu" },
    answers: [
      [
        { think: "Cần tra giá VNM trước." },
        { call: "search_stock", id: "toolu_01", input: { symbol: "VNM" } },
      ],
      [{ text: "Cổ phiếu **VNM** đang giao dịch ở **82,000 VND**, giảm 1.2%." }],
    ],
  },
  outcomes: { toolu_01: { gives: "VNM: 82,000 VND (-1.2%)", after: "tool_result.start toolu_01" } },
  reloadAt: ["thinking.delta main", "tool_result.start toolu_01", "text.delta main"],
};
