/** Tests a page that starts with the state that its server has read from a real gateway, in the middle of an answer. */
import { listBlocks } from "@turnstream/protocol";
import { expect, test } from "vitest";
import type { ClientEvent } from "../../src/report.ts";
import { dehydrateSession } from "../../src/session/dehydrate-session.ts";
import type { SessionView } from "../../src/session/session.ts";
import { isOver, LiveGateway, until } from "./live-gateway.ts";

const textOf = ({ state }: SessionView): string => {
  const turn = state.turns.last();
  return turn === undefined
    ? ""
    : listBlocks(turn)
        .flatMap((block) => (block.kind === "text" ? block.text : []))
        .join("");
};

test.each(["websocket", "sse"] as const)(
  "the page continues in the middle of a word and requests no snapshot (%s)",
  async (channel) => {
    const gateway = await LiveGateway.open();
    const ref = await gateway.stage.session();
    const writer = gateway.client().session(ref.session);
    writer.send({ text: "long" });
    await until(writer, "answering", (view) => textOf(view).length > 100);

    const server = gateway.client({ auth: async () => ({ token: await gateway.token() }) });
    const read = server.session(ref.session);
    await read.refresh();
    const snapshot = dehydrateSession(read);
    const shown = textOf(read.getSnapshot());
    expect(shown.length).toBeGreaterThan(100);

    const events: ClientEvent[] = [];
    const page = gateway.client({ channels: [channel], onEvent: (event) => events.push(event) });
    const session = page.session(ref.session, { snapshot });
    expect(textOf(session.getSnapshot())).toBe(shown);
    const texts: string[] = [];
    const leave = session.subscribe(() => texts.push(textOf(session.getSnapshot())));
    const last = await until(session, "answered", isOver("long"));
    leave();
    expect(textOf(last)).toBe("word ".repeat(400));
    // The text only grows: it never starts again.
    for (const text of texts)
      expect("word ".repeat(400).startsWith(text) && text.startsWith(shown)).toBe(true);
    expect(last.state).toEqual(await gateway.stage.state(ref));
    expect(events).toContainEqual({
      type: "subscribed",
      sessionId: ref.session,
      resumed: true,
      reason: "cursor",
    });
    const addresses = events.flatMap((event) => (event.type === "request" ? [event.url] : []));
    expect(addresses.filter((url) => url.endsWith("/snapshot"))).toEqual([]);
  },
);
