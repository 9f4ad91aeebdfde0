/** What stands between a wire of another dialect and the link, frame by frame. */
import { expect, test } from "vitest";
import { tasks } from "../../src/dialects/tasks.ts";
import { surroundings } from "../../src/env.ts";
import type { Api } from "../../src/http/api.ts";
import type { Frame, Wire, WireEvents } from "../../src/transport/channel.ts";

function open() {
  const wires = tasks.begin({ api: {} as Api, env: surroundings({ storage: null }) });
  const heard: Frame[] = [];
  const connect = (request: string, cursor: string | null) => {
    let server: WireEvents | undefined;
    const bare: Wire = { subscribe() {}, unsubscribe() {}, send() {}, close() {} };
    const events: WireEvents = { opened() {}, heard() {}, frame: (frame) => heard.push(frame), closed() {} };
    const wire = wires.open((on) => {
      server = on;
      return bare;
    }, events);
    wire.subscribe("s", request, cursor);
    return { wire, tell: (frame: Frame) => server?.frame(frame) };
  };
  return { connect, heard };
}

const begun = (request_id: string, resumed: boolean): Frame => ({
  type: "subscribed",
  request_id,
  session_id: "s",
  resumed,
});
const created = (task_id: string, event_id: string): Frame => ({
  type: "task.created",
  task_id,
  session_id: "s",
  agent: "a",
  timestamp: 0,
  display_mode: "agent",
  event_id,
});

test("a message whose answer is lost with the wire holds nothing back on the next", async () => {
  const { connect, heard } = open();
  const first = connect("s1.1", null);
  await Promise.resolve();
  first.tell(begun("s1.1", false));
  first.tell(created("t1", "7-1"));
  const at = heard.at(-1)?.["id"];
  first.wire.send?.({ type: "send", request_id: "c1", session_id: "s", text: "hi", client_message_id: "m" });
  first.tell(created("t2", "7-2"));
  first.wire.close();
  const next = connect("s1.2", String(at));
  next.tell(begun("s1.2", true));
  expect(heard.at(-1)).toMatchObject({ type: "subscribed", resumed: true });
  next.tell(created("t2", "7-2"));
  expect(heard.at(-1)).toMatchObject({ type: "run.start", turn: "t2" });
});
