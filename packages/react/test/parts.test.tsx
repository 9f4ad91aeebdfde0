/** Tests the names of parts, the classes, slots, texts and names that an app can set, and that the docs list them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createStaticSession } from "@turnstream/client/static";
import { renderToString } from "react-dom/server";
import { beforeAll, expect, test } from "vitest";
import type { SessionProviderProps } from "../src/context.ts";
import { preload } from "../src/default-components.ts";
import { SessionProvider } from "../src/provider.tsx";
import { en } from "../src/strings/en.ts";
import { extendStrings } from "../src/strings/extend-strings.ts";
import { resolveCardStrings } from "../src/strings/cards.ts";
import { resolveChatStrings } from "../src/strings/chat.ts";
import { resolveSharingStrings } from "../src/strings/sharing.ts";
import { resolveStrings } from "../src/strings/thread.ts";
import { vi } from "../src/strings/vi.ts";
import { Thread } from "../src/thread/thread.tsx";
import { LOGS, eventsOf } from "./vector-logs.ts";

beforeAll(preload);

const root = join(import.meta.dirname, "../../..");
const docs = readFileSync(join(root, "docs/react-parts.md"), "utf8");
const sources = globSync("src/**/*.{ts,tsx}", { cwd: join(root, "packages/react") }).map((path) =>
  readFileSync(join(root, "packages/react", path), "utf8"),
);

function draw(name: string, props: Partial<SessionProviderProps> = {}, events = eventsOf(name)): string {
  const page = renderToString(
    <SessionProvider session={createStaticSession(events)} {...props}>
      <Thread />
    </SessionProvider>,
  );
  return page.replaceAll("<!-- -->", "");
}

/** The first cells of the rows below a header. */
function listed(header: string): string[] {
  const table = docs.slice(docs.indexOf(header)).split("\n\n", 1)[0] ?? "";
  return [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, name = ""]) => name).toSorted();
}

test("the docs list every part that has an element, and no other", () => {
  const used = sources.flatMap((text) =>
    [...text.matchAll(/(?:usePart\(|markPart\(\S+, |part=)"([\w-]+)"/g)].map(([, name = ""]) => name),
  );
  const cards = ["approval", "question", "form", "payment"].map((kind) => `${kind}-card`);
  const names = [...new Set([...used, ...cards])].toSorted();
  const types = /export type PartName =([^;]+);/.exec(sources.join("\n"))?.[1] ?? "";
  expect(names.length).toBeGreaterThan(30);
  expect(listed("| Part |")).toEqual(names);
  expect([...types.matchAll(/"([\w-]+)"/g)].map(([, name = ""]) => name).toSorted()).toEqual(names);
});

test("recorded logs show most of the parts by their name", () => {
  const shown = new Set<string>();
  for (const { name, events } of LOGS)
    for (let n = 0; n <= events.length; n += 2) {
      const page = draw(name, {}, events.slice(0, n));
      for (const [, part = ""] of page.matchAll(/data-part="([\w-]+)"/g)) shown.add(part);
    }
  // The others need a press, an upload or a lost connection.
  const hidden = ["attachments", "code-block", "connection-banner", "load-more", "newest-button"];
  const inChat = ["agent-picker", "chat", "session-list", "session-row", "suggestion"];
  const missing = listed("| Part |").filter(
    (part) => !shown.has(part) && !hidden.concat(inChat).includes(part),
  );
  expect(missing).toEqual([]);
});

test("a part has the class of the app beside its own", () => {
  const page = draw("tools-in-group", { classNames: { composer: "one two", turn: "three" } });
  expect(page).toContain('class="ts-composer one two" data-part="composer"');
  expect(page).toContain('class="ts-turn three" data-part="turn"');
});

test("the docs list every slot, and each shows its component at its place", () => {
  const names = [
    ...(/export interface Slots \{([^]+?)\n\}/.exec(sources.join("\n"))?.[1] ?? "").matchAll(
      /readonly (\w+):/g,
    ),
  ]
    .map(([, name = ""]) => name)
    .toSorted();
  expect(listed("| Slot |")).toEqual(names);
  const slots = Object.fromEntries(
    names.map((name) => [
      name,
      (props: object) => <i>{`${name} ${Object.keys(props).toSorted().join()}`}</i>,
    ]),
  );
  const shown = [...draw("tools-in-group", { slots }).matchAll(/<i>([^<]+)<\/i>/g)].map(([, text]) => text);
  expect(shown.map((text) => text?.trim())).toEqual([
    "ThreadStart",
    "MessageEnd messageId,turnId",
    "TextEnd blockIndex,turnId",
    "TurnEnd turnId",
    "ThreadEnd",
    "ComposerTop",
    "ComposerStart",
    "ComposerEnd",
  ]);
});

test("an app can replace single texts, and the others stay", () => {
  const page = draw("tools-in-group", {
    strings: { thread: { send: "Go", connection: { offline: "Gone" } } },
  });
  expect(page).toContain('aria-label="Go"');
  expect(page).toContain(`placeholder="${en.thread.placeholder}"`);
  const changed = extendStrings(vi, { thread: { connection: { offline: "Gone" } }, chat: { save: "Keep" } });
  expect(changed.thread.connection).toEqual({ ...vi.thread.connection, offline: "Gone" });
  expect(changed.chat).toEqual({ ...vi.chat, save: "Keep" });
  expect(vi.thread.connection.offline).not.toBe("Gone");
});

test("the same texts are resolved to the same strings", () => {
  const given = { thread: { send: "Go" } };
  expect(resolveStrings(given)).toBe(resolveStrings(given));
  const groups = [resolveCardStrings(), resolveChatStrings(), resolveSharingStrings()];
  expect(Object.assign({}, ...groups, { cards: groups[0]?.cards })).toEqual(en);
});

test("names come from a record or a function", () => {
  const agent = eventsOf("tools-in-group").find((event) => event.type === "turn.start")?.agent ?? "";
  expect(draw("tools-in-group", { agentNames: { [agent]: "The assistant" } })).toContain("The assistant");
  expect(draw("tools-in-group", { agentNames: (id) => `${id} by function` })).toContain(
    `${agent} by function`,
  );
  const known = draw("tools-in-group");
  expect(draw("tools-in-group", { agentNames: () => undefined })).toBe(known);
});
