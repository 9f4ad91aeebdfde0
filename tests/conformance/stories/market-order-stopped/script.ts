/** The same order: the user stops the turn while the approval is pending. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderStopped = orderStory({
  name: "stopped",
  choice: null,
  isPlaced: false,
  isStopped: true,
});
