/** The same order, rejected with a reason: the tool ends with an error, its group closes, the agent goes on. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderRejected = orderStory({
  name: "rejected",
  choice: { decision: "reject", reason: "Giá còn cao." },
  isPlaced: false,
});
