/**
 * Makes agents of a story: its answers become a scripted model, its outcomes become tools, and whatever waits for a moment
 * of the story waits at a gate. Knows nothing of logs and workers.
 */
import { setTimeout as sleepFor } from "node:timers/promises";
import type { Found, Moment, Outcome, Part, Story } from "@turnstream/conformance/stories/story.ts";
import type { Artifact, Json } from "@turnstream/protocol";
import { z } from "zod";
import { type ScriptedReply, script, type ScriptPart } from "../../src/models/script-parts.ts";
import type { Prompt } from "../../src/models/model.ts";
import { scriptedModel, type ScriptCall } from "../../src/models/scripted-model.ts";
import type { ApprovalOptions } from "../../src/runtime/define/approval.ts";
import { type Agent, defineAgent } from "../../src/runtime/define/agent.ts";
import {
  type CitableItem,
  type Tool,
  tool,
  type ToolContext,
  ToolError,
  type ToolOutput,
} from "../../src/runtime/define/tool.ts";

const PACE_MS = 1;
/** A model that waits so long, and n more, waits for the n-th moment at which the story reloads. */
const HOLD_MS = 1_000_000;

/** The moments of one story: who waits for one goes on once it has been told. */
export class Gates {
  /** In pieces of how many characters models speak, and in how many their arguments come. */
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

  /** Before each piece that a model gives, and before each result of a tool. */
  async beat(ms: number): Promise<void> {
    await sleepFor(ms);
  }
}

/** @param heard gets every prompt that a model of the story is given */
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
    // The prompt goes on growing after the model has read it.
    prompts.push(structuredClone(prompt));
    // A turn that goes on from a form begins afresh for the model, and not for the story.
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
 * Before an answer is complete it waits for the reloads in its middle. Its last text is open as long, for nobody knows yet
 * whether it is final.
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
    // Side by side, each begins as soon as it is asked for, without a journal entry before: so in the order of the calls.
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
