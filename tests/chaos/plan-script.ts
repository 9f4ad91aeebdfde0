/**
 * `createPlanScript` plays a plan as a scripted model.
 *
 * Invariant: the speed differs between processes, the content does not, so any worker can continue the turn.
 */
import { type ScriptedReply, script, type Script, type ScriptCall } from "@turnstream/server/testing";
import type { Plan, PlanCall } from "./turn-plan.ts";

const CHUNK = 6;
const ARGUMENT_CHUNKS = 3;

/** @param random varies the speed; each process uses its own */
export function createPlanScript(random: () => number): Script {
  return (asked) => {
    const plan = JSON.parse(asked.text) as Plan;
    const paceMs = plan.paceMs * random();
    const step = plan.steps[asked.step];
    const busy = plan.busy?.step === asked.step ? plan.busy : null;
    const first =
      busy === null ? [] : [script.error({ status: 529, retryAfterMs: busy.ms }, { times: busy.times })];
    if (step === undefined)
      return [
        ...first,
        script.delay(paceMs),
        script.text(formatFinal(plan, asked), { chunk: CHUNK, paceMs }),
      ];
    return [
      ...first,
      script.delay(paceMs),
      ...listThoughts(step).map((text) =>
        script.reasoning(text, { chunk: CHUNK, paceMs: step.thoughts === undefined ? paceMs : 1 }),
      ),
      ...(step.text === "" ? [] : [script.text(step.text, { chunk: CHUNK, paceMs })]),
      ...step.calls.map((each) =>
        script.toolCall(each.tool, createInput(each), { chunks: ARGUMENT_CHUNKS, paceMs }),
      ),
    ] satisfies ScriptedReply;
  };
}

/** The thoughts of a step, one block each. */
export function listThoughts({ think: text, thoughts = 1 }: Plan["steps"][number]): string[] {
  return text === "" ? [] : Array.from({ length: thoughts }, () => text);
}

export function createInput(planned: PlanCall): Record<string, string | number> {
  if ("plan" in planned) return { task: JSON.stringify(planned.plan) };
  if ("thought" in planned) return { thought: planned.thought };
  if ("amount" in planned) return { description: "Deposit", amount: planned.amount, currency: "TWD" };
  const { key, ms } = planned;
  return planned.tool === "asked" ? { key, ms, wait: planned.wait } : { key, ms };
}

/** The instructions and tools of the model call, as the final text quotes them. */
interface Echo {
  readonly instructions: string;
  readonly tools: readonly string[];
}

const SEAM = " ¦ ";

function formatFinal({ final, echo, steps }: Plan, { prompt, tools }: ScriptCall): string {
  if (steps.some(({ calls }) => calls.some(({ tool }) => tool === "request_payment")))
    return `${final}: ${readPaymentStatus(prompt)}`;
  if (echo !== true) return final;
  const [first] = prompt;
  const given: Echo = {
    instructions: first?.role === "system" ? first.content : "",
    tools: tools.map(({ name }) => name),
  };
  return `${final}${SEAM}${JSON.stringify(given)}`;
}

/** The status in the newest result of `request_payment`. */
function readPaymentStatus(prompt: ScriptCall["prompt"]): string {
  const statuses = JSON.stringify(prompt).matchAll(/status\\*":\\*"(\w+): /g);
  return [...statuses].at(-1)?.[1] ?? "unknown";
}

export function parseEcho(text: string): Echo | null {
  const [, given] = text.split(SEAM);
  return given === undefined ? null : (JSON.parse(given) as Echo);
}
