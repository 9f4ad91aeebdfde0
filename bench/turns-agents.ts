/**
 * `benchAgents` defines the agents whose turns are measured: one that answers at once, some with many steps, and one
 * that streams at the rate of a real model and stamps its deltas. Others wait, ask for approval, or call a tree of
 * sub-agents. Definitions only; starts nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, defineAgent, tool } from "@turnstream/server";
import { type ScriptedReply, script, scriptedModel } from "@turnstream/server/testing";
import { anyInput } from "./any-input.ts";
import { archiveAgents } from "./archive/archive-agents.ts";
import type { ProviderAddress } from "./processes/tls-provider.ts";
import { connectProvider } from "./provider-model.ts";

type Model = ReturnType<typeof scriptedModel>;
type Request = Parameters<Model["doStream"]>[0];

/** How many model steps a long turn has. */
export const STEPS = 20;
export const PACE_MS = 50;
const THOUGHTS = 200;
const WORD_COUNT = 400;
/** How long the model of `paced` streams. */
export const PACED_MS = (THOUGHTS + WORD_COUNT) * PACE_MS;
export const WIDE = 50;
export const DEEP = 5;

/** What a tool of the typical turn returns. */
const RESULT_CHARS = 2_000;

/** As long as a stamp and the space after it, so that stamping doesn't change the length. */
const PIECE = "1700000000000.0 ";

const quick = { input: anyInput, label: "Look", run: () => "found" };
const look = tool({ ...quick, idempotent: true });
const trade = tool({ ...quick, idempotent: false });

/** Milliseconds since 1970 with a fraction, comparable between processes of one machine. */
export function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

function steps(name: string, calls: number, used = look): Agent {
  const answers: ScriptedReply[] = Array.from({ length: STEPS }, (_, n) => [
    script.text(`This is step ${n} of the work.`, { chunk: 8 }),
    ...(n === STEPS - 1 ? [] : Array.from({ length: calls }, () => script.toolCall("look", { n }))),
  ]);
  return defineAgent({ name, model: scriptedModel(answers), tools: { look: used }, title: false });
}

/** Plays a script and writes into each delta the time at which the model produced it. */
function stamped(replies: readonly ScriptedReply[]): Model {
  const plain = scriptedModel(replies);
  async function doStream(request: Request) {
    const moments: number[] = [];
    const model = scriptedModel(replies, {
      sleep: async (ms, signal) => {
        await sleep(ms, undefined, { signal });
        moments.push(wallClock());
      },
    });
    const result = await model.doStream(request);
    const reader = result.stream.getReader();
    const read = reader.read.bind(reader);
    reader.read = async () => {
      const answer = await read();
      const { value } = answer;
      if (value?.type === "text-delta" || value?.type === "reasoning-delta") {
        value.delta = `${moments.shift()?.toFixed(1)} `;
      }
      return answer;
    };
    result.stream.getReader = (() => reader) as typeof result.stream.getReader;
    return result;
  }
  return { ...plain, doStream };
}

function paced(): Agent {
  const pace = { chunk: PIECE.length, paceMs: PACE_MS };
  const model = stamped([
    [script.reasoning(PIECE.repeat(THOUGHTS), pace), script.toolCall("look", { symbol: "VNM" })],
    [script.text(PIECE.repeat(WORD_COUNT), pace)],
  ]);
  return defineAgent({ name: "paced", model, tools: { look }, title: false });
}

/** The turn that capacity is planned with: 4 model steps, 3 calls with results of 2 kB, and 400 deltas. */
function typical(): Agent {
  const pace = { chunk: 5, paceMs: 5 };
  const step = (symbol: string): ScriptedReply => [
    script.text("abcd ".repeat(15), pace),
    script.toolCall("read", { q: `${symbol} `.repeat(20) }, { chunks: 10, paceMs: 5 }),
  ];
  const model = scriptedModel([
    [script.reasoning("abcd ".repeat(25), pace), ...step("VNM")],
    step("FPT"),
    step("HPG"),
    [script.text("abcd ".repeat(300), pace)],
  ]);
  const read = tool({ ...quick, idempotent: true, run: () => "result ".repeat(RESULT_CHARS / 7) });
  return defineAgent({ name: "typical", model, tools: { read }, title: false });
}

function waiting(): Agent {
  const wait = tool({
    input: anyInput,
    label: "Wait",
    run: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      }),
  });
  const model = scriptedModel([
    [script.reasoning("I wait for an answer."), script.toolCall("wait", {})],
    [script.text("Done.")],
  ]);
  return defineAgent({ name: "waiting", model, tools: { wait }, title: false });
}

/** Answers after ten seconds, without load until then. */
function slow(): Agent {
  const model = scriptedModel([[script.delay(10_000), script.text("Done.")]]);
  return defineAgent({ name: "slow", model, title: false });
}

/** Waits for an approval, longer than any bench takes. */
function asking(): Agent {
  const order = tool({ ...quick, approval: { timeoutMs: 7_200_000, editable: true } });
  const model = scriptedModel([
    [script.reasoning("This needs an approval."), script.toolCall("order", { n: 1 })],
    [script.text("Done.")],
  ]);
  return defineAgent({ name: "asking", model, tools: { order }, title: false });
}

/** Fifty parallel sub-agents, each with a chain below it, so that the tree is five levels deep at fifty places. */
function tree(): Agent {
  let below = defineAgent({
    name: "level5",
    model: scriptedModel([[script.text("The bottom.")]]),
    title: false,
  });
  for (let level = DEEP - 1; level >= 1; level--) {
    const model = scriptedModel([
      [script.toolCall("below", { task: "Go on." })],
      [script.text(`Level ${level} is done.`)],
    ]);
    below = defineAgent({ name: `level${level}`, model, subAgents: { below }, title: false });
  }
  const branches = Array.from({ length: WIDE }, (_, n) => script.toolCall("below", { task: `Branch ${n}.` }));
  const model = scriptedModel([branches, [script.text("All of it is done.")]]);
  return defineAgent({ name: "tree", model, subAgents: { below }, title: false });
}

/** Its model is behind TLS, in another process. */
export function providerAgent(address: ProviderAddress): Agent {
  return defineAgent({ name: "provider", model: connectProvider(address), title: false });
}

export function benchAgents(): Agent[] {
  const instant = defineAgent({
    name: "instant",
    model: scriptedModel([[script.text("Hello.")]]),
    title: false,
  });
  return [
    instant,
    steps("one_call", 1),
    steps("two_calls", 2),
    steps("careful_call", 1, trade),
    paced(),
    typical(),
    waiting(),
    slow(),
    asking(),
    tree(),
    ...archiveAgents(),
  ];
}
