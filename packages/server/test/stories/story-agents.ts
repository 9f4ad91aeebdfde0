/**
 * Creates the agents of a story: its answers become a scripted model and its outcomes become tools. Whatever waits for
 * a moment of the story waits at a gate. It uses no log and no worker.
 */
import { setTimeout as sleepFor } from "node:timers/promises";
import type { Found, Moment, Outcome, Part, Story } from "@turnstream/conformance/stories/story.ts";
import type { Artifact, Json } from "@turnstream/protocol";
import { z } from "zod";
import { type ScriptedReply, script, type ScriptPart } from "../../src/models/script-parts.ts";
import type { Prompt } from "../../src/models/model.ts";
import { scriptedModel, type ScriptCall } from "../../src/models/scripted-model.ts";
import type { ApprovalOptions } from "../../src/agent/define/approval.ts";
import { type Agent, defineAgent } from "../../src/agent/define/agent.ts";
import {
  type CitableItem,
  type Tool,
  tool,
  type ToolContext,
  ToolError,
  type ToolOutput,
} from "../../src/agent/define/tool.ts";

const PACE_MS = 1;
/** A model with a delay of this plus n waits for the nth reload of the story. */
const HOLD_MS = 1_000_000;

/** The moments of one story. A caller that waits for a moment continues once the moment is reached. */
export class Gates {
  /** The size of the text chunks of models, and the number of chunks of their arguments. */
  readonly pieces = { chunk: 4, chunks: 3 };
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

  /** Runs before each chunk of a model and before each result of a tool. */
  async beat(ms: number): Promise<void> {
    await sleepFor(ms);
  }
}

/** @param prompts receives every prompt of the story's models */
export function createStoryAgent(
  story: Story,
  gates: Gates,
  prompts: Prompt[],
  definition = story.agent,
): Agent {
  const { name, model, label, answers, sharesThoughts = false, hasTitle = false } = definition;
  const subs = Object.entries(definition.agents ?? {}).map(
    ([as, sub]) => [as, createStoryAgent(story, gates, prompts, sub)] as const,
  );
  const tools = Object.entries(definition.tools).map(
    ([as, text]) => [as, toolOf(story, gates, text, definition.approvals?.[as])] as const,
  );
  const reply = ({ step, prompt }: ScriptCall): ScriptedReply => {
    // The prompt keeps growing after the model has read it.
    prompts.push(structuredClone(prompt));
    // A turn that continues from a form starts again for the model, but not for the story.
    const answer = answers[story.form === undefined ? step : prompts.length - 1];
    if (answer === undefined) throw new Error(`${name} has no answer ${step + 1}`);
    return [
      ...answer.map((part) => partOf(part, gates)),
      ...holds(story, answer, definition === story.agent),
    ];
  };
  const sleep = async (ms: number): Promise<void> => {
    const moment = story.reloadAt[ms - HOLD_MS];
    await (moment === undefined ? gates.beat(ms) : gates.pass(moment));
  };
  return defineAgent({
    name,
    model: scriptedModel(reply, { modelId: model, sleep }),
    tools: Object.fromEntries(tools),
    subAgents: Object.fromEntries(subs),
    shareThought: sharesThoughts,
    askUser: definition.asksUser ?? false,
    requestForms: definition.requestsForms ?? false,
    images: definition.seesImages ?? false,
    retry: { maxAttempts: 1 },
    ...(label === undefined ? {} : { label }),
    ...(hasTitle ? {} : { title: false }),
  });
}

function partOf(part: Part, { pieces: { chunk, chunks } }: Gates): ScriptPart {
  const pace = { chunk, paceMs: PACE_MS };
  if ("think" in part) return script.reasoning(part.think, pace);
  if ("text" in part) return script.text(part.text, pace);
  if ("fail" in part) return script.error({ status: part.fail });
  return script.toolCall(part.call, part.input, { id: part.id, chunks, paceMs: PACE_MS });
}

/**
 * Before an answer is complete, it waits for the reloads in its middle. Its last text stays open as long, because it
 * may not be final.
 */
function holds({ reloadAt }: Story, answer: readonly Part[], isMain: boolean): ScriptPart[] {
  const kinds = answer.flatMap((part) => ("think" in part ? ["thinking"] : "text" in part ? ["text"] : []));
  return reloadAt.flatMap((moment, n) => {
    const [event = "", of] = moment.split(" ");
    const isHere = (of === "main") === isMain && kinds.some((kind) => event === `${kind}.delta`);
    return isHere ? [script.delay(HOLD_MS + n)] : [];
  });
}

function toolOf(
  { outcomes }: Story,
  gates: Gates,
  text: string,
  approval: ApprovalOptions | false = false,
): Tool {
  const label = text.includes("{") ? (input: Readonly<Record<string, unknown>>) => fill(text, input) : text;
  return tool({
    label,
    input: z.looseObject({}),
    // Parallel idempotent calls start without a journal entry, so they start in the order of the calls.
    idempotent: true,
    approval,
    run: async (input, context) => {
      const outcome = outcomes[context.call];
      if (outcome === undefined) throw new Error(`the story has no outcome for ${context.call}`);
      return produce(outcome, gates, context, input);
    },
  });
}

function fill(text: string, input: Readonly<Record<string, unknown>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, field: string) => String(input[field]));
}

async function produce(
  outcome: Outcome,
  gates: Gates,
  context: ToolContext,
  input: Readonly<Record<string, unknown>>,
): Promise<ToolOutput> {
  if (outcome.after !== undefined) await gates.pass(outcome.after);
  await gates.beat(PACE_MS);
  if ("hangs" in outcome) return new Promise(() => {});
  if ("fails" in outcome) throw new ToolError(outcome.fails);
  const { gives, artifact, shows, references } = outcome;
  if (shows !== undefined) {
    context.progress(shows.text);
    for (const picture of shows.pictures) context.image(picture);
  }
  return {
    content: typeof gives === "string" ? fill(gives, input) : (gives as Json),
    ...(shows === undefined ? {} : { preview: shows.text }),
    ...(artifact === undefined ? {} : { artifact: artifact as Artifact }),
    ...(references === undefined ? {} : { references: references.map(citable) }),
  };
}

function citable({ content, text, picture }: Found): CitableItem {
  const blocks = [
    { type: "text", text },
    { type: "image", url: picture },
  ] as const;
  return { content: content as Json, blocks };
}
