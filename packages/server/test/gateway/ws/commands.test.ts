/** Tests the commands of the socket (W16): valid ones are parsed unchanged, invalid ones are rejected with a reason. */
import { parseCursor } from "@turnstream/protocol";
import type { SocketCommand } from "@turnstream/protocol/schema";
import { describe, expect, test } from "vitest";
import { socketCommands, socketReplies } from "../../../../protocol/src/commands/socket.ts";
import { toErrorResponse } from "../../../src/gateway/errors.ts";
import { parseCommand, readFrame } from "../../../src/gateway/ws/parse-command.ts";

type Parsed =
  | { readonly ok: true; readonly value: SocketCommand }
  | { readonly ok: false; readonly error: string; readonly message: string };

/** Parses a text frame, as a connection does. */
function parseSocketCommand(text: string): Parsed {
  try {
    return { ok: true, value: parseCommand(readFrame(Buffer.from(text)).value) };
  } catch (thrown) {
    const { error, message } = toErrorResponse(thrown).reply;
    return { ok: false, error, message };
  }
}

const session_id = "ses_rail";

const good: Record<keyof typeof socketCommands, object[]> = {
  subscribe: [{ session_id }, { session_id, last_event_id: "3-141" }, { session_id, last_event_id: "0-0" }],
  unsubscribe: [{ session_id }],
  ping: [{}],
  send: [
    { session_id, client_message_id: "c-1", text: "When does it leave?" },
    {
      session_id,
      client_message_id: "c-2",
      text: "Read this 🎫",
      content_urls: ["https://files.example/ticket.pdf"],
      agent_id: "rail",
      resume_form_request_id: "frm_1",
    },
    {
      session_id,
      client_message_id: "c-3",
      text: "",
      resume_form_request_id: "frm_1",
      form_values: { seats: 2 },
    },
  ],
  stop: [{ session_id }, { session_id, turn_id: "turn_2" }],
  decide: [
    { session_id, approval_key: "ses_rail_1", decision: "approve", digest: "sha256:ab" },
    { session_id, approval_key: "ses_rail_1", decision: "edit", args: { seats: 1 } },
    { session_id, approval_key: "ses_rail_1", decision: "reject", reason: "too expensive" },
    { session_id, approval_key: "ses_rail_1", decision: "approve", always: true },
  ],
  answer: [
    { session_id, approval_key: "ses_rail_2", answers: [{ question: "q", selected: ["a"], text: "please" }] },
  ],
  dismiss: [
    { session_id, approval_key: "ses_rail_2" },
    { session_id, approval_key: "ses_rail_2", reason: "not now" },
  ],
  submit: [{ session_id, form_request_id: "frm_1", values: { email: "an@example.org", nights: 2 } }],
  decline: [
    { session_id, form_request_id: "frm_1" },
    { session_id, form_request_id: "frm_1", reason: "no" },
  ],
  cancel_payment: [{ session_id, payment_request_id: "pay_1" }],
  refresh_payment: [{ session_id, payment_request_id: "pay_1" }],
};

describe("a valid command", () => {
  const all = Object.entries(good).flatMap(([type, bodies]) => bodies.map((body) => ({ type, ...body })));

  test.each(all)("W16 W13 is parsed unchanged: %j", (command) => {
    expect(parseSocketCommand(JSON.stringify(command))).toEqual({ ok: true, value: command });
    const named = { ...command, request_id: "r-1" };
    expect(parseSocketCommand(JSON.stringify(named))).toEqual({ ok: true, value: named });
  });

  test("W16 is tested for every type", () => {
    expect(Object.keys(good)).toEqual(Object.keys(socketCommands));
  });
});

const subscribe = (last_event_id: unknown) =>
  JSON.stringify({ type: "subscribe", session_id, last_event_id });

/** Values that are no cursors. */
const badCursors: [string, unknown][] = [
  ["empty", ""],
  ["a number", 7],
  ["null", null],
  ["negative", "1--4"],
  ["a sign", "+1-4"],
  ["2^64", "1-18446744073709551616"],
  ["2^53", "1-9007199254740992"],
  ["16 nines", "9999999999999999-0"],
  ["leading zeros", "01-4"],
  ["a fraction", "1-4.0"],
  ["an exponent", "1-4e2"],
  ["hexadecimal", "0x1-4"],
  ["CR LF after it", "1-4\r\n"],
  ["a line before it", "x\n1-4"],
  ["NUL", "1-4\0"],
  ["spaces", " 1-4 "],
  ["full-width digits", "１-４"],
  ["Arabic digits", "١-٤"],
  ["three parts", "1-4-5"],
  ["1 MB", `1-${"4".repeat(1_000_000)}`],
];

describe("an invalid command", () => {
  test.each([
    ["nothing", ""],
    ["no JSON", "hello"],
    ["half of one", '{"type":"stop","session_id":"s"'],
    ["no object", '["stop"]'],
    ["null", "null"],
    ["no type", '{"session_id":"s"}'],
    ["an unknown type", '{"type":"format_disk","session_id":"s"}'],
    ["a type that every object has", '{"type":"toString","session_id":"s"}'],
    ["no session", '{"type":"stop"}'],
    ["an empty session", '{"type":"stop","session_id":""}'],
    ["a session that is too long", JSON.stringify({ type: "stop", session_id: "s".repeat(257) })],
    ["an unknown field", '{"type":"stop","session_id":"s","force":true}'],
    ["an empty message", '{"type":"send","session_id":"s","client_message_id":"c","text":""}'],
    ["a message without an id", '{"type":"send","session_id":"s","text":"x"}'],
    [
      "a message that is too long",
      JSON.stringify({ type: "send", session_id, client_message_id: "c", text: "x".repeat(1_000_001) }),
    ],
    [
      "too many files",
      JSON.stringify({
        type: "send",
        session_id,
        client_message_id: "c",
        text: "x",
        content_urls: Array(101).fill("u"),
      }),
    ],
    [
      "values of no form",
      '{"type":"send","session_id":"s","client_message_id":"c","text":"x","form_values":{"a":1}}',
    ],
    ["a decision that is none", '{"type":"decide","session_id":"s","approval_key":"k","decision":"maybe"}'],
    ["a decision on nothing", '{"type":"decide","session_id":"s","decision":"approve"}'],
    ["an edit without arguments", '{"type":"decide","session_id":"s","approval_key":"k","decision":"edit"}'],
    [
      "arguments without an edit",
      '{"type":"decide","session_id":"s","approval_key":"k","decision":"approve","args":{}}',
    ],
    ["no answer", '{"type":"answer","session_id":"s","approval_key":"k","answers":[]}'],
    ["values that are no object", '{"type":"submit","session_id":"s","form_request_id":"f","values":[1]}'],
  ])("W16 W13 is rejected with a reason: %s", (_, text) => {
    const read = parseSocketCommand(text);
    expect(read).toMatchObject({ ok: false, error: "BAD_REQUEST" });
    expect(read.ok ? "" : read.message).not.toBe("");
  });

  test.each(badCursors)("W16 H03 a last_event_id that is no cursor is rejected: %s", (_, cursor) => {
    expect(parseCursor(cursor)).toBeNull();
    expect(parseSocketCommand(subscribe(cursor))).toMatchObject({ ok: false, error: "BAD_REQUEST" });
  });

  test("W16 its reason names the field and is short for any input", () => {
    const read = parseSocketCommand(subscribe("9".repeat(1_000_000)));
    const message = read.ok ? "" : read.message;
    expect(message).toContain("last_event_id");
    expect(message.length).toBeLessThan(300);
  });

  test.each(["decide", "submit"])("W16 a __proto__ in %s changes no prototype", (type) => {
    const bad = '{"__proto__":{"admin":true},"seats":1}';
    const text =
      type === "decide"
        ? `{"type":"decide","session_id":"s","approval_key":"k","decision":"edit","args":${bad}}`
        : `{"type":"submit","session_id":"s","form_request_id":"f","values":${bad}}`;
    const read = parseSocketCommand(text);
    expect(JSON.stringify(read)).not.toContain('"admin":true,"seats"');
    const value = (read.ok ? read.value : {}) as { args?: { admin?: unknown }; values?: { admin?: unknown } };
    expect((value.args ?? value.values)?.admin).toBeUndefined();
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });
});

describe("the server's replies", () => {
  test.each([
    ["ack", { request_id: "r-1", user_message_id: "m-2" }],
    ["ack", { request_id: "r-1", turn_id: "turn_2", receipt: "stopping" }],
    ["ack", {}],
    ["subscribed", { session_id, resumed: true, reason: "cursor" }],
    ["subscribed", { session_id, resumed: true, reason: "cursor", head: "2-45" }],
    ["subscribed", { session_id, resumed: false, reason: "expired" }],
    ["error", { error: "INTERACTION_CLOSED", code: 13_001, message: "Decided already.", can_retry: false }],
  ] as const)("W16 %s matches its schema: %j", (type, body) => {
    expect(socketReplies[type].safeParse({ type, ...body }).error).toBeUndefined();
  });
});
