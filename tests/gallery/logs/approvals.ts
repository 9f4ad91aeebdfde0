/** `approval` writes logs of approvals inside their group, one for each outcome. */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { ApprovalAction, ArgumentField, EventOf } from "@turnstream/protocol";
import { concluded, step, story } from "./writing.ts";

const LABEL = "Placing the order";
const INPUT = {
  symbol: "VNM",
  side: "buy",
  quantity: 100,
  limit_price: 83_000,
  good_until: "2026-04-30",
  all_or_none: true,
};
/** What the schema of the tool states about the arguments. */
const FIELDS: readonly ArgumentField[] = [
  { name: "symbol", label: "Stock", type: "text" },
  {
    name: "side",
    label: "Side",
    type: "select",
    options: [
      { value: "buy", label: "Buy" },
      { value: "sell", label: "Sell" },
    ],
  },
  { name: "quantity", label: "Quantity", type: "number" },
  { name: "limit_price", label: "Limit price", type: "number", unit: "VND" },
  { name: "good_until", label: "Valid until", type: "date" },
  { name: "all_or_none", label: "All or none", type: "boolean" },
];
const ORDER: ApprovalAction = {
  name: "place_order",
  label: "Place an order to buy VNM",
  server: "Broker",
  input: INPUT,
  fields: FIELDS,
};
const MAIL: ApprovalAction = {
  name: "send_email",
  label: "Write to your adviser",
  input: { to: "adviser@example.com", subject: "Bought 100 VNM", body: "As agreed on Monday." },
};

type Update = Pick<EventOf<"approval.update">, "status" | "by" | "reason" | "actions" | "always">;

interface Options {
  readonly actions?: readonly ApprovalAction[];
  readonly always?: true;
  readonly editable?: boolean;
  readonly timeoutSeconds?: number | null;
}

/** @param update the decision, or null for an approval that still waits */
export function approval(update: Update | null, options: Options = {}): Story {
  const { actions = [ORDER], editable = true, timeoutSeconds = 300 } = options;
  const log = story("Buy 100 VNM if it is below 83,000.");
  log.openGroup();
  step(log, "get_price", "Looking up VNM", "82,000 VND", { symbol: "VNM" });
  const call = log.call("place_order", [JSON.stringify(INPUT)], { label: LABEL });
  const on = log.place();
  log.add({
    type: "approval.request",
    ...on,
    key: "ses_gallery_1",
    call,
    actions: [...actions],
    editable,
    ...(timeoutSeconds === null
      ? {}
      : { timeout_seconds: timeoutSeconds, deadline: log.now + timeoutSeconds * 1000 }),
    digest: "d_1",
    ...(options.always === undefined ? {} : { always: options.always }),
  });
  if (update === null) return log;
  log.wait(update.status === "timed_out" ? 300 : 12);
  log.add({ type: "approval.update", ...on, version: 1, ...update });
  if (update.status === "cancelled") {
    log.result(call, "place_order", "", { status: "cancelled" }).closeGroup("Stopped");
    log.add({ type: "notice.stopped", ...log.place(), text: "You stopped this answer.", by: "usr_an" });
    log.end("user_stopped");
    return log;
  }
  const isPlaced = update.status === "approved" || update.status === "edited";
  log.result(call, "place_order", isPlaced ? "Order 4711 placed" : "Nothing was ordered", {
    status: isPlaced ? "success" : "error",
  });
  log.closeGroup(isPlaced ? "Placed the order" : "The order was not placed");
  return concluded(log, isPlaced ? "Your order is placed." : "I ordered nothing.");
}

export const edited: Update = {
  status: "edited",
  by: "usr_an",
  actions: [{ ...ORDER, input: { ...INPUT, quantity: 50, limit_price: 82_500 } }],
};

export const severalActions: Options = { actions: [ORDER, MAIL], editable: false };
