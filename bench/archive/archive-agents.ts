/**
 * `archiveAgents` defines the agents of the bench `archive`: turns of 10 to 80 steps with long results. Definitions
 * only.
 */
import { type Agent, defineAgent, tool } from "@turnstream/server";
import { type ScriptedReply, script, scriptedModel } from "@turnstream/server/testing";
import { seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { anyInput } from "../any-input.ts";

export const STEP_COUNTS = [10, 20, 40, 80];
const RESULT_CHARS = 4_000;
const ANSWER_CHARS = 1_000;
/** Text and result of one step. */
export const STEP_CHARS = RESULT_CHARS + ANSWER_CHARS;

/** Text that PostgreSQL can't compress, because no part of it repeats. The same for the same seed. */
export function randomText(seed: number, chars: number): string {
  const random = seededRandom(seed);
  let text = "";
  while (text.length < chars) text += random().toString(36).slice(2, 7);
  return text.slice(0, chars);
}

const read = tool({
  input: anyInput,
  label: "Read",
  idempotent: true,
  run: (input) => randomText((input as { n: number }).n, RESULT_CHARS),
});

/** The last of the steps only answers. */
function longTurn(steps: number): Agent {
  const answers: ScriptedReply[] = Array.from({ length: steps }, (_, n) => [
    script.text(randomText(1_000 + n, ANSWER_CHARS), { chunk: 200 }),
    ...(n === steps - 1 ? [] : [script.toolCall("read", { n })]),
  ]);
  const limits = { maxSteps: 100 };
  return defineAgent({
    name: longTurnName(steps),
    model: scriptedModel(answers),
    tools: { read },
    limits,
    title: false,
  });
}

export function longTurnName(steps: number): string {
  return `steps_${steps}`;
}

export function archiveAgents(): Agent[] {
  return STEP_COUNTS.map(longTurn);
}
