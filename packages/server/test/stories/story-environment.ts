/**
 * Opens everything that the stories need on PostgreSQL and Redis: a harness, one worker with all agents, and the
 * files.
 */
import { STORIES } from "@turnstream/conformance/stories/index.ts";
import type { Story, StoryFile } from "@turnstream/conformance/stories/story.ts";
import type { Prompt } from "../../src/models/model.ts";
import { makePdf } from "../text-extraction/make-pdf.ts";
import { listen, type Listener } from "../safe-fetch/listeners.ts";
import { openRealBackend } from "../engine/real-backend.ts";
import { TurnHarness, type HarnessBackend } from "../engine/turn-harness.ts";
import { createStoryAgent, Gates } from "./story-agents.ts";

/** The strings of the documents of the `blocks` dialect. */
export const STORY_STRINGS = {
  stopped: "Bạn đã dừng câu trả lời. Hãy gửi tin nhắn khác để tiếp tục.",
  thinkingLabel: "Suy nghĩ",
  rejected: "Bạn đã từ chối việc này.",
  notApproved: "Không ai cho phép kịp.",
  readingFile: (name: string) => `Đang đọc ${name}`,
  filesRead: (read: number) => `Processed ${read} file`,
  errors: { LLM_ERROR: "Câu trả lời bị lỗi. Bạn hãy thử lại." },
};

export function bytesOf(file: StoryFile): Uint8Array {
  return "image" in file ? Buffer.from(file.image, "base64") : makePdf(file.pages);
}

/** The files of the stories, by path. */
const files = new Map(
  STORIES.flatMap((story) => story.files ?? []).map((file) => [new URL(file.url).pathname, bytesOf(file)]),
);

export class StoryEnvironment {
  readonly harness: TurnHarness;
  readonly gates: ReadonlyMap<Story, Gates>;
  /** Every prompt of the story's models, by the story's name. */
  readonly prompts = new Map<string, Prompt[]>();
  readonly #site: Listener;

  private constructor(harness: TurnHarness, site: Listener, newGates: (story: Story) => Gates) {
    this.harness = harness;
    this.gates = new Map(STORIES.map((story) => [story, newGates(story)]));
    this.#site = site;
  }

  /** @param given the caller's own backend; a new one by default */
  static async open(
    newGates: (story: Story) => Gates = () => new Gates(),
    given?: HarnessBackend,
  ): Promise<StoryEnvironment> {
    const harness = await TurnHarness.open(given ?? (await openRealBackend()));
    const site = await listen("127.0.0.1", ({ url = "" }, response) => {
      response.end(files.get(url));
    });
    const environment = new StoryEnvironment(harness, site, newGates);
    const agents = [...environment.gates].map(([story, gates]) => {
      const prompts: Prompt[] = [];
      environment.prompts.set(story.name, prompts);
      return createStoryAgent(story, gates, prompts);
    });
    await harness.worker(agents, {
      // The messages of the stories name no language, so the worker uses its default.
      strings: { en: STORY_STRINGS },
      leaseTtlMs: 10_000,
      fetchPolicy: { allow: [site.name] },
    });
    return environment;
  }

  /** Returns the address of a file of a story. */
  served = (url: string): string => `${this.#site.url}${new URL(url).pathname}`;

  /** Maps those addresses back to the ones in the story. */
  addressesOf({ files: own = [] }: Story): Map<string, string> {
    return new Map(own.map(({ url }) => [this.served(url), url]));
  }

  gatesOf(story: Story): Gates {
    const gates = this.gates.get(story);
    if (gates === undefined) throw new Error(`there is no story ${story.name}`);
    return gates;
  }

  async close(): Promise<void> {
    await this.harness.close();
    await this.#site.close();
  }
}
