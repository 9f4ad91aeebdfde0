/** Tests that the first turn after a loss of history announces it, once, and keeps the text when another worker takes over. */
import { listBlocks, parseCursor, type Turn } from "@turnstream/protocol";
import { afterEach, expect, test } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { BUILT_IN_STRINGS } from "../../../src/strings/catalogs.ts";
import { createMemoryBackend } from "../../gateway/test-server.ts";
import { outline, TurnHarness } from "../turn-harness.ts";

let harness: TurnHarness;
afterEach(() => harness.close());

const agent = defineAgent({ name: "a", title: false, model: scriptedModel(() => [script.text("hello")]) });
const TEXT = BUILT_IN_STRINGS.en.historyLost;

const texts = (turn: Turn): string[] =>
  listBlocks(turn).flatMap((block) => (block.kind === "text" ? [block.text] : []));

test("the first turn after a loss starts with the announcement, and later turns don't", async () => {
  harness = await TurnHarness.open(createMemoryBackend());
  await harness.worker([agent]);
  const ref = await harness.session();
  expect(texts(await harness.ask(ref, "one"))).toEqual(["hello"]);
  const { archived } = (await harness.backend.store.sessions.find(ref)) ?? { archived: "0-0" };
  await harness.backend.store.epochs.confirm(ref, parseCursor(archived)?.seq);
  const turn = await harness.ask(ref, "two");
  expect(texts(turn)).toEqual([TEXT, "hello"]);
  expect(outline(turn)[0]).toBe(`text part ${TEXT}`);
  expect(texts(await harness.ask(ref, "three"))).toEqual(["hello"]);
});

test("a turn that another attempt continues has the announcement once", async () => {
  harness = await TurnHarness.open(createMemoryBackend());
  const slow = defineAgent({
    name: "a",
    title: false,
    model: scriptedModel(() => [script.delay(300), script.text("hello")]),
  });
  const first = await harness.worker([slow], { shutdownGraceMs: 0 });
  const ref = await harness.session();
  await harness.backend.store.epochs.confirm(ref, 0);
  await harness.send(ref, "one");
  await harness.until(ref, 30_000, (state) => {
    const turn = state.turns.last();
    return turn !== undefined && texts(turn).includes(TEXT) ? turn : null;
  });
  await first.shutdown();
  await harness.worker([slow]);
  const turn = await harness.ended(ref, () => true);
  expect(texts(turn)).toEqual([TEXT, "hello"]);
});
