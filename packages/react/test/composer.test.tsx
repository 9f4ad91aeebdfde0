/** Tests the composer and the empty thread as a server renders them: refused files, the choice of an agent, the greeting. */
import type { AgentInfo, SessionView } from "@turnstream/client";
import { createStaticSession } from "@turnstream/client/static";
import type { RefusedFile } from "@turnstream/client/view";
import type { ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { beforeAll, expect, test } from "vitest";
import type { SessionProviderProps } from "../src/context.ts";
import { preload } from "../src/default-components.ts";
import { SessionProvider } from "../src/provider.tsx";
import { en } from "../src/strings/en.ts";
import { vi } from "../src/strings/vi.ts";
import { zhCn } from "../src/strings/zh-cn.ts";
import { zhTw } from "../src/strings/zh-tw.ts";
import { Composer } from "../src/thread/composer.tsx";
import { describeAccept, RefusedFiles } from "../src/thread/attachment-list.tsx";
import { Thread } from "../src/thread/thread.tsx";
import { eventsOf } from "./vector-logs.ts";

beforeAll(preload);

function draw(children: ReactNode, props: Partial<SessionProviderProps> = {}): string {
  const page = renderToString(
    <SessionProvider session={createStaticSession([])} {...props}>
      {children}
    </SessionProvider>,
  );
  return page
    .replaceAll("<!-- -->", "")
    .replaceAll(/[\u2068\u2069]/g, "")
    .replaceAll("&#x27;", "'");
}

const refuse = (reason: RefusedFile["reason"], ...names: readonly string[]): RefusedFile[] =>
  names.map((name) => ({ name, reason }));

function explain(files: readonly RefusedFile[], limits: object, strings = en): string[] {
  const page = draw(<RefusedFiles files={files} limits={limits} onDismiss={() => {}} />, { strings });
  expect(page).toContain('role="alert"');
  return [...page.matchAll(/<p>(.*?)<\/p>/g)].map(([, text = ""]) => text);
}

test("a refused file is named with its reason, and many are counted", () => {
  const limits = { accept: "image/*,.pdf", maxFileBytes: 2_500_000, maxFiles: 1 };
  expect(explain([...refuse("size", "a.png"), ...refuse("type", "b.zip", "c.mp3")], limits)).toEqual([
    "Not added: b.zip and c.mp3. Accepted types: images and PDF.",
    "Not added: a.png. A file can have at most 2.5 MB.",
  ]);
  expect(explain(refuse("count", "1", "2", "3", "4", "5"), limits)).toEqual([
    "Not added: 1, 2, 3, and 2 more files. A message can have one file.",
  ]);
  expect(explain(refuse("count", "a.png"), {})).toEqual([
    "Not added: a.png. A message can have at most 20 files.",
  ]);
  expect(explain(refuse("type", "a.png"), { accept: "" })).toEqual([
    "Not added: a.png. Files can't be attached here.",
  ]);
});

test.each([
  [vi, "Chưa thêm: a.zip. Các loại được nhận: hình ảnh và PDF."],
  [zhCn, "未添加：a.zip。可用的类型：图片和PDF。"],
  [zhTw, "未加入：a.zip。可用的類型：圖片和PDF。"],
])("the reason is in the language of the page", (strings, text) => {
  expect(explain(refuse("type", "a.zip"), { accept: "image/*,.pdf" }, strings)).toEqual([text]);
});

test("a name can't change the direction of the text or hide its ending", () => {
  expect(explain(refuse("size", "report\u202Efdp.exe"), {}).join()).not.toContain("\u202E");
});

test("accepted types are shown as users know them", () => {
  const kinds = { image: "images", text: "text" };
  expect(describeAccept("image/*, .PDF,application/pdf", kinds)).toEqual(["images", "PDF"]);
  expect(describeAccept("text/plain,text/*,image/svg+xml,audio/*", kinds)).toEqual(["text", "SVG", "audio"]);
  expect(
    describeAccept("application/vnd.openxmlformats-officedocument.wordprocessingml.document", kinds),
  ).toEqual(["DOCX"]);
  expect(describeAccept("", kinds)).toEqual([]);
});

const agent = (id: string, label = ""): AgentInfo => ({ id, label, description: "", inputs: ["text"] });
const AGENTS = [agent("asking"), agent("guide", "Tour guide"), agent("market_desk")];

test("the user can choose between several agents, which have the names of the app, their labels or their ids", () => {
  const page = draw(<Composer agents={AGENTS} />, { agentNames: { asking: "The one who asks" } });
  const options = [...page.matchAll(/<option[^>]*>(.*?)<\/option>/g)].map(([, name]) => name);
  expect(options).toEqual(["The one who asks", "Tour guide", "Market desk"]);
  expect(page).toMatch(/<option[^>]*value="asking"[^>]*selected|<option[^>]*selected=""[^>]*value="asking"/);
  expect(draw(<Composer agents={AGENTS.slice(0, 1)} />)).not.toContain("<select");
  expect(draw(<Composer />)).not.toContain("<select");
});

test("the composer proposes the agent of the last turn", () => {
  const events = eventsOf("tools-in-group");
  const last = events.find((event) => event.type === "turn.start")?.agent ?? "";
  const session = createStaticSession(events);
  const page = draw(<Composer agents={[...AGENTS, agent(last)]} />, { session });
  expect(page).toMatch(
    new RegExp(`<option[^>]*(value="${last}"[^>]*selected|selected=""[^>]*value="${last}")`),
  );
});

test("an empty thread greets the user, and offers suggestions only where the user can write", () => {
  const suggestions = ["North", "South"];
  const page = draw(<Thread suggestions={suggestions} />);
  expect(page).toContain(en.thread.welcome);
  expect([...page.matchAll(/data-part="suggestion"/g)]).toHaveLength(2);
  expect(draw(<Thread welcome={<b>Hello</b>} />)).toMatch(/<b>Hello<\/b>/);
  expect(draw(<Thread welcome={<b>Hello</b>} />)).not.toContain(en.thread.welcome);
  for (const other of [<Thread key="1" composer={null} suggestions={suggestions} />, <Thread key="2" />]) {
    const readOnly = other.key === "2";
    expect(draw(other, { readOnly })).not.toContain(en.thread.welcome);
  }
  expect(draw(<Thread composer={null} welcome="Nothing yet" suggestions={suggestions} />)).toMatch(
    /Nothing yet/,
  );
  expect(draw(<Thread composer={null} welcome="Nothing yet" suggestions={suggestions} />)).not.toContain(
    "North",
  );
});

test("a session that is still loading, or has messages, shows no greeting", () => {
  const loading = createStaticSession([]);
  const { connection } = loading.getSnapshot();
  loading.setView({ connection: { ...connection, phase: "connecting" } } satisfies Partial<SessionView>);
  expect(draw(<Thread />, { session: loading })).not.toContain(en.thread.welcome);
  const full = createStaticSession(eventsOf("plain-answer"));
  expect(draw(<Thread />, { session: full })).not.toContain(en.thread.welcome);
  // An empty session whose connection was lost is known to be empty.
  const empty = createStaticSession(eventsOf("plain-answer").slice(0, 1), {
    connection: { ...connection, phase: "offline" },
  });
  expect(draw(<Thread />, { session: empty })).toContain(en.thread.welcome);
});

test("the button for files and the field are missing or disabled if the composer is", () => {
  expect(draw(<Composer isDisabled />)).not.toContain('data-part="attach-button"');
  expect(draw(<Composer accept="" />)).not.toContain('data-part="attach-button"');
  expect(draw(<Composer accept=".pdf" />)).toMatch(/type="file"[^>]*accept="\.pdf"/);
});
