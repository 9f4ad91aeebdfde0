/** Tests that each card can be answered by keyboard alone, and which command the page then sends (U05, U07). */
import { foldAll, type SessionEvent } from "@turnstream/protocol";
import { turnSnapshot } from "@turnstream/protocol/writer";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { numbered } from "./hostile/places.ts";
import { openRecorded, start, withRecordedPages } from "./recorded-page.ts";

withRecordedPages();

const on = (index: number) => ({ turn: "t", run: "r", block: `b${index}`, index });

interface Request {
  readonly type: string;
  readonly [field: string]: unknown;
}

function logWith(...requests: readonly Request[]): SessionEvent[] {
  return numbered([
    { type: "session.start", session: "s", number: 1 },
    { type: "message.add", message: "m", text: "Hi", by: "an" },
    { type: "turn.start", turn: "t", number: 1, message: "m", message_number: 1, agent: "a", mode: "agent" },
    { type: "run.start", turn: "t", run: "r", agent: "a" },
    ...requests.map((request, n) => ({ ...on(n), ...request })),
  ]);
}

const approval = {
  type: "approval.request",
  key: "k",
  call: "c",
  actions: [{ name: "buy", label: "Buy VNM", input: { symbol: "VNM", count: 100, note: { a: [1] } } }],
  editable: true,
  digest: "d1",
  deadline: 4_000_000_000_000,
};

const commands = async (page: Page) => await page.evaluate(() => window.recorded?.commands ?? []);
const focused = async (page: Page) => await page.evaluate(() => document.activeElement?.textContent ?? "");

async function open(...requests: readonly Request[]): Promise<Page> {
  const page = await openRecorded();
  await start(page, logWith(...requests));
  await page.locator(".ts-card").first().waitFor();
  return page;
}

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

test("U05: A focuses the approval without a decision; Y then approves what was shown", async () => {
  const page = await open(approval);
  await page.locator(".ts-scroll").focus();
  await press(page, "y");
  expect(await commands(page)).toEqual([]);
  await press(page, "a");
  await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain("ts-approval");
  await press(page, "a");
  expect(await commands(page)).toEqual([]);
  await press(page, "y");
  await expect
    .poll(() => commands(page))
    .toEqual([["decideApproval", "k", { decision: "approve", digest: "d1" }]]);
  await press(page, "y");
  expect(await commands(page)).toHaveLength(1);
  await expect.poll(() => page.locator("[data-action=approve]").isDisabled()).toBe(true);
});

test("U05: keys only type letters while a text field has the focus", async () => {
  const page = await open(approval);
  await page.locator(".ts-composer textarea").focus();
  await press(page, "a", "y");
  await expect.poll(() => page.locator(".ts-composer textarea").inputValue()).toBe("ay");
  expect(await commands(page)).toEqual([]);
});

test("U05: arguments are edited by keyboard, keep their types, and can't be sent while invalid", async () => {
  const page = await open(approval);
  await page.locator(".ts-scroll").focus();
  await press(page, "a", "e", "Tab");
  await press(page, "ControlOrMeta+a");
  await page.keyboard.type("x");
  await expect.poll(() => page.getByRole("button", { name: "Approve with changes" }).isDisabled()).toBe(true);
  await press(page, "ControlOrMeta+a");
  await page.keyboard.type("50");
  await press(page, "Enter");
  const args = { symbol: "VNM", count: 50, note: { a: [1] } };
  await expect
    .poll(() => commands(page))
    .toEqual([["decideApproval", "k", { decision: "edit", args, digest: "d1" }]]);
});

test("U05: arguments that are too large to show are marked, can be loaded in full, and can't be edited", async () => {
  const whole = { blob: "b", size: 70_011, media_type: "application/json", url: "https://x.test/whole" };
  const input = '{"text":"word [Cut here: 13 of 70011 characters are shown.]';
  const page = await open(
    { type: "tool_call.start", call: "c", name: "write", label: "Write" },
    { type: "tool_call.end", input: '{"text":"word', whole, ...on(0) },
    { ...approval, actions: [{ name: "write", label: "Write", input }], editable: false, ...on(1) },
  );
  const card = page.locator(".ts-approval");
  await expect.poll(() => card.locator("pre").textContent()).toBe(input);
  await card.getByRole("button", { name: "Show all" }).click();
  await expect.poll(() => card.locator("a").getAttribute("href")).toBe(whole.url);
  await expect.poll(() => card.getByRole("button", { name: "Edit" }).count()).toBe(0);
  // The address was only shown so far.
  expect(await card.locator("[data-action=approve]").isDisabled()).toBe(true);
  await card
    .locator("a")
    .evaluate((link) => link.addEventListener("click", (event) => event.preventDefault()));
  await card.locator("a").click();
  await card.locator("[data-action=approve]:enabled").click();
  await expect
    .poll(() => commands(page))
    .toEqual([["decideApproval", "k", { decision: "approve", digest: "d1" }]]);
});

test("U05: arguments that are too long for the card must be opened before they can be approved", async () => {
  const input = { text: "word ".repeat(12_000), hidden: "wire all funds" };
  const cut = '{"text":"word [Cut here: 13 of 60044 characters are shown.]';
  const page = await open(
    { type: "tool_call.start", call: "c", name: "write", label: "Write" },
    { type: "tool_call.end", input, ...on(0) },
    {
      ...approval,
      actions: [{ name: "write", label: "Write", input: cut }],
      editable: false,
      always: true,
      ...on(1),
    },
  );
  const card = page.locator(".ts-approval");
  const approvals = ["[data-action=approve]", ".ts-always"].map((name) => card.locator(name));
  for (const button of approvals) await expect.poll(() => button.isDisabled()).toBe(true);
  await card.focus();
  await press(page, "y");
  expect(await commands(page)).toEqual([]);
  expect(await card.textContent()).toContain("Open all arguments before you approve.");
  await card.getByRole("button", { name: "Show all" }).click();
  await expect.poll(() => card.textContent()).toContain("wire all funds");
  for (const button of approvals) await expect.poll(() => button.isDisabled()).toBe(false);
  await card.focus();
  await press(page, "y");
  await expect.poll(() => commands(page)).toHaveLength(1);
});

test("U05: a rejection takes a reason, and Escape returns to the card", async () => {
  const page = await open(approval);
  await page.locator(".ts-scroll").focus();
  await press(page, "a", "n");
  await page.keyboard.type("no");
  await press(page, "Escape");
  await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain("ts-approval");
  await press(page, "n");
  await page.keyboard.type("not today");
  await press(page, "Enter");
  const decision = { decision: "reject", reason: "not today", digest: "d1" };
  await expect.poll(() => commands(page)).toEqual([["decideApproval", "k", decision]]);
});

test("U05: a card that was decided elsewhere names the user who decided, and keeps the focus", async () => {
  const page = await open(approval);
  await page.getByRole("button", { name: "Approve" }).focus();
  const update = {
    type: "approval.update",
    version: 1,
    status: "rejected",
    by: "binh",
    reason: "Too expensive.",
  };
  await page.evaluate(
    (more) => window.recorded?.append(JSON.parse(more) as SessionEvent[]),
    JSON.stringify(numbered([{ ...update, ...on(0) }], 5)),
  );
  await page.getByText("Rejected by Bình").waitFor();
  await expect.poll(() => page.locator(".ts-approval button").count()).toBe(0);
  await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain("ts-approval");
});

test("U07: a question is answered with Tab, arrows, Space and Enter", async () => {
  const options = [
    { id: "a", label: "Now" },
    { id: "b", label: "Later" },
  ];
  const one = { id: "q1", text: "When?", options, multiple: false, free_text: false };
  const many = { id: "q2", text: "How?", options, multiple: true, free_text: true };
  const page = await open({ type: "question.request", key: "q", call: "c", questions: [one, many] });
  await page.getByRole("radio", { name: "Now" }).focus();
  await press(page, "ArrowDown", "Tab", "Space", "Tab", "Tab");
  await page.keyboard.type("fine");
  await press(page, "Tab", "Enter");
  const answers = [
    { question: "q1", selected: ["b"] },
    { question: "q2", selected: ["a"], text: "fine" },
  ];
  await expect.poll(() => commands(page)).toEqual([["answerQuestion", "q", answers]]);
});

test("what the user has entered or opened stays when a new snapshot arrives", async () => {
  const options = [
    { id: "a", label: "Now" },
    { id: "b", label: "Later" },
  ];
  const asked = { id: "q1", text: "When?", options, multiple: false, free_text: true };
  const cut = { name: "write", label: "Write", input: '{"text":"word [Cut here]' };
  const requests = [
    { type: "tool_call.start", call: "c", name: "write", label: "Write" },
    { type: "tool_call.end", input: { text: "word ".repeat(12_000) }, ...on(0) },
    { ...approval, actions: [cut], editable: false, ...on(1) },
    { type: "question.request", key: "q", call: null, questions: [asked], ...on(2) },
  ];
  const page = await open(...requests);
  await page.getByRole("radio", { name: "Later" }).check();
  await page.locator("fieldset textarea").fill("after nine");
  const approve = page.locator(".ts-approval [data-action=approve]");
  await page.locator(".ts-approval").getByRole("button", { name: "Show all" }).click();
  await expect.poll(() => approve.isDisabled()).toBe(false);
  const turns = foldAll(logWith(...requests))
    .turns.toArray()
    .map(turnSnapshot);
  await page.evaluate((text) => window.recorded?.showTurns(text, true), JSON.stringify(turns));
  await page.getByRole("button", { name: "Show earlier messages" }).waitFor();
  expect(await page.getByRole("radio", { name: "Later" }).isChecked()).toBe(true);
  expect(await page.locator("fieldset textarea").inputValue()).toBe("after nine");
  expect(await approve.isDisabled()).toBe(false);
});

test("U07: a form names missing fields, focuses the first, and is sent when it is valid", async () => {
  const fields = [
    { name: "name", label: "Name", type: "text", required: true },
    { name: "age", label: "Age", type: "number", required: true, min: 18 },
    { name: "meal", label: "Meal", type: "select", required: false, options: [{ value: "v", label: "Veg" }] },
    { name: "ok", label: "Agreed", type: "checkbox", required: true },
  ];
  const schema = { id: "f", title: "Who?", fields };
  const page = await open({ type: "form.request", form: "f1", schema });
  await page.getByRole("textbox", { name: "Name" }).focus();
  await press(page, "Enter");
  await page.getByText("Check 3 fields.").waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("INPUT");
  await page.keyboard.type("An");
  await press(page, "Tab");
  await page.keyboard.type("17");
  await press(page, "Tab");
  await page.locator(".ts-field-problem", { hasText: "At least 18." }).waitFor();
  await press(page, "Shift+Tab", "ControlOrMeta+a");
  await page.keyboard.type("18");
  await press(page, "Tab", "v", "Tab", "Space");
  await press(page, "Tab");
  await expect.poll(() => focused(page)).toBe("Submit");
  await press(page, "Enter");
  const values = { name: "An", age: 18, meal: "v", ok: true };
  await expect
    .poll(async () => (await commands(page)).filter(([name]) => name === "submitForm"))
    .toEqual([["submitForm", "f1", values]]);
});

test("U07: typing after a rejected submit reaches the invalid field, whenever the next frame is drawn", async () => {
  const fields = ["name", "town"].map((name) => ({ name, label: name, type: "text", required: true }));
  const page = await open({ type: "form.request", form: "f1", schema: { id: "f", title: "Who?", fields } });
  await page.evaluate(() => {
    window.requestAnimationFrame = () => 0;
  });
  await page.getByRole("textbox", { name: "town" }).focus();
  await press(page, "Enter");
  await page.keyboard.type("An");
  await expect.poll(() => page.getByRole("textbox", { name: "name" }).inputValue()).toBe("An");
});

test("U07: a form saves its input as a draft after a moment", async () => {
  const fields = [{ name: "name", label: "Name", type: "text", required: true }];
  const page = await open({
    type: "form.request",
    form: "f1",
    schema: { id: "f", title: "Who?", fields },
  });
  await page.getByRole("textbox", { name: "Name" }).fill("An");
  await page.getByText("Draft saved").waitFor();
  const saved = (await commands(page)).filter(([name]) => name === "saveFormDraft");
  expect(saved).toEqual([["saveFormDraft", "f1", { name: "An" }]]);
});

test("U07: Enter opens a citation with its source and link; Escape closes it", async () => {
  const of = { call: "c", name: "search", label: "Searching" };
  const page = await openRecorded();
  const log = logWith(
    { type: "tool_call.start", ...of },
    { type: "tool_result.start", ...of },
    { type: "text.start", part: false },
  );
  const more = numbered(
    [
      {
        type: "tool_result.delta",
        ...on(1),
        part: 0,
        media: "text",
        data: "15C, sunny",
        reference: { id: 4, title: "Paris, now", url: "https://weather.example/p" },
        done: true,
      },
      { type: "tool_result.end", ...on(1), status: "success", preview: "ok", artifact: null },
      {
        type: "text.delta",
        ...on(2),
        text: "Sunny.[^4]",
        annotations: [{ reference: 4, start: 6, end: 10 }],
      },
      { type: "text.end", ...on(2), final: true },
    ],
    log.length,
  );
  await start(page, [...log, ...more]);
  const chip = page.getByRole("button", { name: "Source 1: Paris, now" });
  await chip.focus();
  await press(page, "Enter");
  const card = page.locator(".ts-cite-card");
  await expect.poll(() => card.textContent()).toContain("15C, sunny");
  await expect.poll(() => chip.getAttribute("aria-expanded")).toBe("true");
  await press(page, "Tab");
  await expect
    .poll(() => page.evaluate(() => (document.activeElement as HTMLAnchorElement).href))
    .toBe("https://weather.example/p");
  await press(page, "Escape");
  await expect.poll(() => card.isVisible()).toBe(false);
  await expect.poll(() => page.locator(".ts-source").textContent()).toContain("weather.example");
});
