/** Tests that a command has the same fields over HTTP and on a socket. */
import { expect, test } from "vitest";
import { socketCommands } from "../src/commands/socket.ts";
import { postMessage, restBodies } from "../src/schema.ts";

/** What a socket adds, and what the path of a request contains. */
const ADDRESS = ["type", "request_id", "session_id", "approval_key", "form_request_id"];
/** How HTTP returns the answer to a message. A socket has subscriptions for it. */
const ANSWER = ["stream", "include_tool_tags"];

const fieldsOf = ({ shape }: { readonly shape: object }, without: readonly string[]) =>
  Object.keys(shape)
    .filter((name) => !without.includes(name))
    .toSorted();

test.each(["send", "decide", "answer", "dismiss", "submit", "decline"] as const)(
  "the body of %s has the fields of the socket command",
  (name) => {
    expect(fieldsOf(restBodies[name], ANSWER)).toEqual(fieldsOf(socketCommands[name], ADDRESS));
  },
);

test("the body of the `responses` dialect differs from it only in the name of the text", () => {
  const renamed = fieldsOf(postMessage, []).map((name) => (name === "message" ? "text" : name));
  expect(renamed.toSorted()).toEqual(fieldsOf(restBodies.send, []));
});

test("a message needs text, files or form values, and form values need their form, on every channel", () => {
  const sent = { type: "send", session_id: "s", client_message_id: "m" };
  const bodies = [
    (text: string, more: object) => socketCommands.send.safeParse({ ...sent, text, ...more }),
    (text: string, more: object) => restBodies.send.safeParse({ text, ...more }),
    (message: string, more: object) => postMessage.safeParse({ message, ...more }),
  ];
  for (const parse of bodies) {
    expect(parse("", {}).success).toBe(false);
    expect(parse("", { content_urls: ["https://x.test/a"] }).success).toBe(true);
    expect(parse("x", { form_values: {} }).success).toBe(false);
    expect(parse("", { form_values: {}, resume_form_request_id: "f" }).success).toBe(true);
  }
});
