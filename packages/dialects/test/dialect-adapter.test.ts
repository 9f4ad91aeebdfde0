/** Tests `DialectAdapter` with single frames: it adapts a channel of another dialect to the transport. */
import { expect, test } from "vitest";
import { tasks } from "../src/tasks/tasks.ts";
import type { Channel, ChannelEvents, DialectContext, Frame } from "../src/client-seam.ts";

function open() {
  const adapter = tasks.connect({ env: { now: () => 0 } } as DialectContext);
  const frames: Frame[] = [];
  const connect = (request: string, cursor: string | null) => {
    let server: ChannelEvents | undefined;
    const bare: Channel = { subscribe() {}, unsubscribe() {}, send() {}, close() {} };
    const events: ChannelEvents = {
      onOpen() {},
      onReceive() {},
      onFrame: (frame) => frames.push(frame),
      onError() {},
      onClose() {},
    };
    const channel = adapter.openChannel((on) => {
      server = on;
      return bare;
    }, events);
    channel.subscribe("s", request, cursor);
    return { channel, receive: (frame: Frame) => server?.onFrame(frame) };
  };
  return { connect, frames };
}

const subscribed = (request_id: string, resumed: boolean): Frame => ({
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

test("a message whose reply was lost with its channel blocks no frames of the next channel", async () => {
  const { connect, frames } = open();
  const first = connect("s1.1", null);
  await Promise.resolve();
  first.receive(subscribed("s1.1", false));
  first.receive(created("t1", "7-1"));
  const at = frames.at(-1)?.["id"];
  first.channel.send?.({
    type: "send",
    request_id: "c1",
    session_id: "s",
    text: "hi",
    client_message_id: "m",
  });
  first.receive(created("t2", "7-2"));
  first.channel.close();
  const next = connect("s1.2", String(at));
  next.receive(subscribed("s1.2", true));
  expect(frames.at(-1)).toMatchObject({ type: "subscribed", resumed: true });
  next.receive(created("t2", "7-2"));
  expect(frames.at(-1)).toMatchObject({ type: "run.start", turn: "t2" });
});
