/** The same order: the person stops the turn while it waits. Data only. */
import { orderStory } from "../market-order/order.ts";

export const marketOrderStopped = orderStory({
  name: "stopped",
  choice: null,
  isPlaced: false,
  isStopped: true,
});
