/**
 * Plays the stories of 000, 002 and 003 against a real gateway with clients that know only their document: a React
 * block processor on a socket, and a reader of the event stream in plain JavaScript.
 */
import { contactForm } from "@turnstream/conformance/stories/contact-form/script.ts";
import { filesReport } from "@turnstream/conformance/stories/files-report/script.ts";
import { writtenEnd, writtenFrames } from "@turnstream/conformance/stories/index.ts";
import type { Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import { twoToolsStopped } from "@turnstream/conformance/stories/two-tools-stopped/script.ts";
import { twoTools } from "@turnstream/conformance/stories/two-tools/script.ts";
import { vnmError } from "@turnstream/conformance/stories/vnm-error/script.ts";
import { vnmStock } from "@turnstream/conformance/stories/vnm-stock/script.ts";
import type { SessionRef } from "@turnstream/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { declineForm, submitForm } from "../../packages/server/src/session/interactions/submit-form.ts";
import type { StoryDriver } from "../../packages/server/test/stories/driver.ts";
import { play } from "../../packages/server/test/stories/run-story.ts";
import { StoryEnvironment } from "../../packages/server/test/stories/story-environment.ts";
import { closeBrowser, openBrowser } from "./chromium.ts";
import { pageUrl } from "./pages.ts";
import { TestEnvironment } from "./test-environment.ts";

let browser: Browser;
let environment: TestEnvironment;
let stories: StoryEnvironment;

beforeAll(async () => {
  environment = await TestEnvironment.open();
  stories = await StoryEnvironment.open(undefined, environment.backend);
  browser = await openBrowser();
}, 300_000);

afterAll(async () => {
  await closeBrowser(browser);
  await environment?.close();
  await stories?.close();
}, 60_000);

class DocumentsDriver implements StoryDriver<null> {
  readonly timeoutMs = 120_000;
  readonly page: Page;
  #chat = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async watch({ session }: SessionRef): Promise<void> {
    const found = await environment.backend.store.sessions.get(stories.harness.actor, session);
    this.#chat = found?.number ?? 0;
    const query = new URLSearchParams({ url: environment.url, session });
    await this.page.goto(`${pageUrl("live")}/documents.html?${query}`);
    await this.page.waitForFunction(() => window.documents?.view.isConnected === true);
  }

  async ask(ref: SessionRef, { ask: message, agent, files = [] }: Story): Promise<string> {
    const content_urls = files.map(({ url }) => stories.served(url));
    await this.#post({ message, agent_id: agent.name, ...(files.length === 0 ? {} : { content_urls }) });
    return stories.harness.until(ref, this.timeoutMs, ({ turns }) => turns.get(0)?.message?.id ?? null);
  }

  async stop(ref: SessionRef): Promise<void> {
    await stories.harness.stop(ref);
  }

  choose(): Promise<void> {
    throw new Error("the stories of 000, 002 and 003 ask for no decision");
  }

  async fillIn(ref: SessionRef, { finally: then }: StoryForm): Promise<void> {
    const { backend, actor } = stories.harness;
    await this.page.waitForFunction(() => window.documents?.view.isDone === true);
    const form = await this.page.evaluate(() => window.documents?.view.forms[0] ?? "");
    if ("decline" in then) {
      await declineForm(backend, ref, { form, userId: actor.user, reason: then.decline });
      return;
    }
    await submitForm(backend, ref, { form, values: then.submit, userId: actor.user, startNextTurn: false });
    const agent = (await stories.harness.state(ref)).turns.last()?.agent;
    await this.#post({ message: then.message, agent_id: agent, resume_form_request_id: form });
  }

  reload(): Promise<() => Promise<null>> {
    return Promise.resolve(() => Promise.resolve(null));
  }

  /** The page reads the response on its own, after the test has started the request. */
  async #post(body: object): Promise<void> {
    await this.page.evaluate(
      ([chat, text]) => {
        if (window.documents !== undefined) window.documents.view.isDone = false;
        void window.documents?.ask(chat, JSON.parse(text) as object);
      },
      [this.#chat, JSON.stringify(body)] as const,
    );
  }
}

async function playOn(story: Story): Promise<Page> {
  const context = await environment.openContext(browser, stories.harness.actor);
  const driver = new DocumentsDriver(await context.newPage());
  await play(stories.harness, story, stories.gatesOf(story), driver);
  return driver.page;
}

interface WrittenBlock {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly name?: string;
  readonly status?: string;
  readonly toolResult?: string;
  readonly blocks?: readonly WrittenBlock[];
}

/** The blocks of the last turn in the final state that was written by hand, without groups, which 000 doesn't have. */
function writtenBlocks(story: Story): string[] {
  const turns = Object.values(writtenEnd(story).blocks as Record<string, { items: readonly WrittenBlock[] }>);
  return (turns.at(-1)?.items ?? [])
    .flatMap((item) => item.blocks ?? [item])
    .map(({ type, text, thinking, name, toolResult, status }) =>
      type === "tool_use"
        ? `${type} ${name}: ${toolResult ?? "…"}`
        : `${type} ${text ?? thinking ?? status ?? ""}`,
    );
}

test.each([vnmStock, vnmError, filesReport, twoTools, twoToolsStopped])(
  "U01 U09 a React block processor of 000 shows $name",
  async (story) => {
    const page = await playOn(story);
    const shown = async () =>
      await page
        .locator("ol[data-streaming=false] > li")
        .evaluateAll((items) =>
          items.map((item) => `${(item as HTMLElement).dataset["type"]} ${item.textContent}`),
        );
    await expect.poll(shown).toEqual(writtenBlocks(story));
    await page.context().close();
  },
);

test("U09 a reader of 002 in browser JavaScript receives the form and the answer", async () => {
  const page = await playOn(contactForm);
  const written = writtenFrames(contactForm, "responses").findLast(
    ({ type }) => type === "response.output_text.completed",
  );
  const view = () => page.evaluate(() => window.documents?.view);
  await expect.poll(view).toMatchObject({
    output: written?.["final_text"],
    finalText: written?.["final_text"],
    forms: [expect.any(String)],
    errors: [],
    isDone: true,
  });
  await page.context().close();
});

test("the gateway reports no error", () => {
  expect(environment.failures).toEqual([]);
});
