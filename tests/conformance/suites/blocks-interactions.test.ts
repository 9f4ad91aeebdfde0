/** Tests approvals, questions, forms and payments in the `blocks` dialect, and their changes. */
import { blocks } from "../support/codecs.ts";
import type { EventOf } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { LogWriter } from "../support/log-writer.ts";
import { bareFramesOf, blocksIn, framesOf, read } from "./frames.ts";

const noAgent = { subagent: null, parent_tool_use_id: null };

/** A tool call that buys a ticket and waits for approval. */
function asking(): { log: LogWriter; on: ReturnType<LogWriter["place"]> } {
  const log = new LogWriter().session("ses_rail").begin("Buy it").openGroup();
  log.call("buy_ticket", ['{"train":"SE3","seats":2}'], { call: "toolu_1", label: "Buying a ticket" });
  const on = log.place();
  log.add({
    type: "approval.request",
    ...on,
    key: "ses_rail_1",
    call: "toolu_1",
    actions: [{ name: "buy_ticket", label: "Buy 2 seats", input: { train: "SE3", seats: 2 } }],
    editable: true,
    timeout_seconds: 300,
    deadline: 1_800_000_300_000,
  });
  return { log, on };
}

describe("an approval", () => {
  test("W13 is requested with the printed frames: the key in the start, the rest in a delta without a type", () => {
    const { log } = asking();
    const at = { message_id: log.turn, index: 2 };
    expect(bareFramesOf(blocks, log).slice(-3)).toEqual([
      {
        type: "content_block_start",
        ...at,
        content_block: { type: "approval_request", approval_key: "ses_rail_1", ...noAgent },
      },
      {
        type: "content_block_delta",
        ...at,
        delta: {
          action_requests: [{ name: "buy_ticket", args: { train: "SE3", seats: 2 }, label: "Buy 2 seats" }],
          review_configs: [{ require_approval: true, allow_edit: true }],
          timeout_seconds: 300,
          deadline: 1_800_000_300_000,
          tool_use_id: "toolu_1",
        },
      },
      { type: "content_block_stop", ...at },
    ]);
  });

  const decided: [
    Omit<EventOf<"approval.update">, "v" | "id" | "at" | "type" | keyof ReturnType<LogWriter["place"]>>,
    object,
  ][] = [
    [{ version: 1, status: "approved", by: "usr_an" }, { status: "approved" }],
    [
      { version: 1, status: "rejected", reason: "too expensive" },
      { status: "rejected", reason: "too expensive" },
    ],
    [{ version: 1, status: "timed_out" }, { status: "timed_out" }],
    [{ version: 1, status: "cancelled" }, { status: "cancelled" }],
    [
      { version: 1, status: "edited", actions: [{ name: "buy_ticket", input: { train: "SE3", seats: 1 } }] },
      { status: "edited", action_requests: [{ name: "buy_ticket", args: { train: "SE3", seats: 1 } }] },
    ],
  ];

  test.each(decided)("W13 approval_result reports the decision: %j", (update, result) => {
    const { log, on } = asking();
    log.add({ type: "approval.update", ...on, ...update });
    const frames = framesOf(blocks, log);
    expect(frames.at(-1)).toEqual({
      type: "approval_result",
      message_id: log.turn,
      index: 2,
      approval_key: "ses_rail_1",
      version: 1,
      ...result,
      event_id: log.events.at(-1)?.id,
    });
    const { status, actions = null } = update;
    const { state, problems } = read(blocks, frames);
    expect(problems).toEqual([]);
    expect(blocksIn(state).at(-1)).toMatchObject({ kind: "approval", status, edited: actions });
  });

  test.each(["rejected", "timed_out"] as const)(
    "W13 %s: the tool ends with an error, the group closes, the agent continues",
    (status) => {
      const { log, on } = asking();
      log.add({ type: "approval.update", ...on, version: 1, status });
      log.result("toolu_1", "buy_ticket", "Not approved.", { status: "error" }).closeGroup("Bought nothing");
      log.text(["Then I leave it."], { final: true }).end();
      const types = framesOf(blocks, log).map((f) =>
        f.type === "content_block_start" ? f.content_block.type : f.type,
      );
      expect(types.filter((type) => !/_(delta|stop)$/.test(type)).slice(-5)).toEqual([
        "approval_request",
        "approval_result",
        "tool_result",
        "group_end",
        "text",
      ]);
    },
  );

  test("W13 the tool does not start before the decision, and there is only one decision", () => {
    const { log, on } = asking();
    expect(() => log.startResult("toolu_1", "buy_ticket")).toThrow("L16");
    log.add({ type: "approval.update", ...on, version: 1, status: "rejected" });
    expect(() => log.add({ type: "approval.update", ...on, version: 2, status: "approved" })).toThrow("L20");
  });

  test("W13 that is not editable is marked so and rejects an edit", () => {
    const log = new LogWriter().session().begin("x");
    log.call("buy_ticket", [], { call: "toolu_1" });
    const on = log.place();
    const actions = [{ name: "buy_ticket", input: {} }];
    log.add({ type: "approval.request", ...on, key: "k", call: "toolu_1", actions, editable: false });
    const deltas = framesOf(blocks, log).flatMap((f) => (f.type === "content_block_delta" ? [f.delta] : []));
    expect(deltas.at(-1)).toMatchObject({ review_configs: [{ require_approval: true, allow_edit: false }] });
    expect(() => log.add({ type: "approval.update", ...on, version: 1, status: "edited", actions })).toThrow(
      "L20",
    );
  });
});

describe("a question", () => {
  const questions = [
    {
      id: "class",
      text: "Which class?",
      options: [
        { id: "soft", label: "Soft bed" },
        { id: "bed", label: "Berth", description: "four to a cabin" },
      ],
      multiple: false,
      free_text: true,
    },
  ];

  function questioned(): { log: LogWriter; on: ReturnType<LogWriter["place"]> } {
    const log = new LogWriter().session("ses_rail").begin("x");
    const call = log.place();
    const tool = { call: "toolu_q", name: "ask_user_question", label: "", hidden: true };
    log.add({ type: "tool_call.start", ...call, ...tool });
    log.add({ type: "tool_call.end", ...call, input: { questions } });
    const on = log.place();
    log.add({
      type: "question.request",
      ...on,
      key: "ses_rail_2",
      call: "toolu_q",
      questions,
      timeout_seconds: 300,
    });
    return { log, on };
  }

  test("W15 is an approval_request whose action is ask_user_question", () => {
    const { log } = questioned();
    // The hidden call has no index in this dialect.
    const at = { message_id: log.turn, index: 0 };
    expect(bareFramesOf(blocks, log).slice(2)).toEqual([
      {
        type: "content_block_start",
        ...at,
        content_block: { type: "approval_request", approval_key: "ses_rail_2", ...noAgent },
      },
      {
        type: "content_block_delta",
        ...at,
        delta: {
          action_requests: [{ name: "ask_user_question", args: { questions } }],
          review_configs: [{ require_approval: false }],
          timeout_seconds: 300,
          deadline: null,
          tool_use_id: "toolu_q",
        },
      },
      { type: "content_block_stop", ...at },
    ]);
  });

  test("W13 W15 approval_result also reports its answer", () => {
    const { log, on } = questioned();
    const answers = [{ question: "class", selected: ["bed"], text: "lower, please" }];
    log.add({ type: "question.update", ...on, version: 1, status: "answered", answers, by: "usr_an" });
    const frames = framesOf(blocks, log);
    const { event_id: _, ...last } = frames.at(-1) ?? { type: "" };
    expect(last).toEqual({
      type: "approval_result",
      message_id: log.turn,
      index: 0,
      approval_key: "ses_rail_2",
      status: "answered",
      version: 1,
      answers,
    });
    expect(blocksIn(read(blocks, frames).state)).toMatchObject([{ kind: "question", questions, answers }]);
  });
});

describe("forms and payments", () => {
  test("S07 S08 have the field names of responses, and change after their turn", () => {
    const log = new LogWriter().session().begin("x");
    const on = log.place();
    log.add({
      type: "payment.request",
      ...on,
      payment: "pay_1",
      order_no: "ORD-77",
      amount: 1450,
      currency: "TWD",
      description: "Two berths",
      checkout_url: "https://pay.example/c/77",
    });
    log.end("requires_interaction");
    log.add({ type: "payment.update", ...on, version: 1, status: "processing" });
    const frames = bareFramesOf(blocks, log);
    expect(frames[2]).toMatchObject({
      content_block: {
        type: "payment_request",
        payment: {
          payment_request_id: "pay_1",
          checkout_url: "https://pay.example/c/77",
          merchant_order_no: "ORD-77",
          amount_twd: 1450,
          currency: "TWD",
          status: "pending",
          item_desc: "Two berths",
        },
      },
    });
    expect(frames.at(-1)).toEqual({
      type: "interaction_update",
      message_id: log.turn,
      index: 0,
      interaction_type: "payment",
      interaction_id: "pay_1",
      status: "processing",
      version: 1,
    });
    expect(blocksIn(read(blocks, frames).state)).toMatchObject([
      { kind: "payment", status: "processing", amount: 1450 },
    ]);
  });
});
