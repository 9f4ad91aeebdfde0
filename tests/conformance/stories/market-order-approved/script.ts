/** The order of 004, which waits for approval inside its group and is approved. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderApproved = orderStory({
  name: "approved",
  choice: { decision: "approve" },
  isPlaced: true,
});
