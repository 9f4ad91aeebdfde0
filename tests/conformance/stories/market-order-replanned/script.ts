/**
 * The same order, rejected, and the agent continues with another plan: the group of the refused call closes, and the
 * next steps open a new one. Data only.
 */
import { orderStory } from "../market-order/order.ts";

export const marketOrderReplanned = orderStory({
  name: "replanned",
  choice: { decision: "reject", reason: "Giá còn cao." },
  isPlaced: false,
  plan: [
    [
      { think: "Đặt cảnh báo thay cho lệnh mua." },
      { call: "set_alert", id: "tc-3", input: { symbol: "VNM" } },
    ],
    [{ text: "Mình chưa mua, và sẽ báo khi giá đổi." }],
  ],
});
