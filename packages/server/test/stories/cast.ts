/**
 * Makes agents of a story: its answers become a scripted model, its outcomes become tools, and whatever waits for a moment
 * of the story waits at a gate. Knows nothing of logs and workers.
 */
import type { Moment, Outcome, Part, Story, StoryAgent } from "@turnstream/conformance/stories/story.ts";
import type { Artifact, Json } from "@turnstream/protocol";
import { z } from "zod";
import { type Answer, call, say, think } from "../../src/models/script-parts.ts";
import { scripted } from "../../src/models/scripted.ts";
import { type Agent, defineAgent } from "../../src/runtime/define/agent.ts";
import { type Tool, tool, type ToolContext, type ToolOutput } from "../../src/runtime/define/tool.ts";

/** Slow enough that people can reload in the middle of a text. */
const PACE = { chunk: 4, paceMs: 8 };
const ARGUMENT_PIECES = 3;

/** The moments of one story: who waits for one goes on once it has been told. */
export class Gates {
  readonly #seen = new Set<Moment>();
  readonly #waiting = new Map<Moment, (() => void)[]>();

  open(moment: Moment): void {
    if (this.#seen.has(moment)) return;
    this.#seen.add(moment);
    for (const go of this.#waiting.get(moment) ?? []) go();
  }

  async pass(moment: Moment): Promise<void> {
    if (this.#seen.has(moment)) return;
    await new Promise<void>((go) => {
      this.#waiting.set(moment, [...(this.#waiting.get(moment) ?? []), go]);
    });
  }
}

export function agentOf(story: Story, gates: Gates, told: StoryAgent = story.agent): Agent {
  const { name, model, label, answers, sharesThoughts = false, hasTitle = false } = told;
  const subs = Object.entries(told.agents ?? {}).map(
    ([as, sub]) => [as, agentOf(story, gates, sub)] as const,
  );
  const tools = Object.entries(told.tools).map(([as, words]) => [as, toolOf(story, gates, words)] as const);
  return defineAgent({
    name,
    model: scripted(answers.map(answerOf), { modelId: model }),
    tools: Object.fromEntries(tools),
    agents: Object.fromEntries(subs),
    shareThought: sharesThoughts,
    ...(label === undefined ? {} : { label }),
    ...(hasTitle ? {} : { title: false }),
  });
}

function answerOf(parts: readonly Part[]): Answer {
  return parts.map((part) => {
    if ("think" in part) return think(part.think, PACE);
    if ("say" in part) return say(part.say, PACE);
    return call(part.call, part.input, { id: part.id, chunks: ARGUMENT_PIECES });
  });
}

function toolOf({ outcomes }: Story, gates: Gates, words: string): Tool {
  const label = words.includes("{")
    ? (input: Readonly<Record<string, unknown>>) => fill(words, input)
    : words;
  return tool({
    label,
    input: z.looseObject({}),
    // Side by side, each begins as soon as it is asked for, without a journal entry before: so in the order of the calls.
    rerun: "always",
    run: async (_, context) => {
      const outcome = outcomes[context.call];
      if (outcome === undefined) throw new Error(`the story has no outcome for ${context.call}`);
      return produce(outcome, gates, context);
    },
  });
}

function fill(words: string, input: Readonly<Record<string, unknown>>): string {
  return words.replaceAll(/\{(\w+)\}/g, (_, field: string) => String(input[field]));
}

async function produce(outcome: Outcome, gates: Gates, context: ToolContext): Promise<ToolOutput> {
  if (outcome.after !== undefined) await gates.pass(outcome.after);
  if ("hangs" in outcome) return new Promise(() => {});
  if ("fails" in outcome) throw new Error(outcome.fails);
  const { gives, artifact, shows } = outcome;
  if (shows !== undefined) {
    context.progress(shows.text);
    for (const picture of shows.pictures) context.image(picture);
  }
  return {
    content: gives as Json,
    ...(shows === undefined ? {} : { preview: shows.text }),
    ...(artifact === undefined ? {} : { artifact: artifact as Artifact }),
  };
}
