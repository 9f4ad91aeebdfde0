/** The same order, rejected: the tool ends with an error, its group closes, the agent continues. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderRejected = orderStory({
  name: "rejected",
  choice: { decision: "reject", reason: "Giá còn cao." },
  isPlaced: false,
});
