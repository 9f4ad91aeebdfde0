/**
 * `Plan` describes a turn as data: the thoughts, texts and calls of its model, including sub-agents. The plan is the
 * text of the message.
 *
 * Invariant: every process that runs the turn plays the same plan, and a check can compute the expected result from it.
 */

export interface Plan {
  readonly name: string;
  readonly steps: readonly PlanStep[];
  /** The final text. */
  readonly final: string;
  /** How long the model takes at most for one chunk. */
  readonly paceMs: number;
  /** If true, the final text quotes the instructions and tools of the model call. */
  readonly echo?: boolean;
  /** Before this step the model reports that it is overloaded: this many times, in each process. */
  readonly busy?: { readonly step: number; readonly times: number; readonly ms: number };
}

interface PlanStep {
  readonly think: string;
  /** How many times the step repeats its thought, almost without pauses. @default 1 */
  readonly thoughts?: number;
  readonly text: string;
  readonly calls: readonly PlanCall[];
}

export type PlanCall =
  | { readonly tool: PlanTool; readonly key: string; readonly ms: number }
  /** Waits for an approval, at most `wait` seconds. */
  | { readonly tool: "asked"; readonly key: string; readonly ms: number; readonly wait: number }
  | { readonly tool: "share_thought"; readonly thought: string }
  /** Ends the turn. The next one writes the final text, followed by the status of the payment. */
  | { readonly tool: "request_payment"; readonly amount: number }
  | { readonly tool: "helper" | "inner" | "passing" | "turning"; readonly plan: Plan };

/** The tools after the second one differ between the versions of the agent. */
export type PlanTool = "again" | "once" | "extra" | "added" | "veiled" | "turned" | "turning";

type Random = () => number;

const VOCABULARY = "the quick brown fox jumps over a lazy dog while the cat sleeps and the log grows".split(
  " ",
);

export function randomText(random: Random, count: number): string {
  return Array.from({ length: count }, () => VOCABULARY[Math.floor(random() * VOCABULARY.length)]).join(" ");
}

/** The result of a tool contains its own key, so that a result at the wrong call is noticed. */
export const formatToolResult = (key: string): string => `did ${key}`;

/**
 * Generates a turn of several seconds with thoughts, texts, tools and sub-agents.
 * @param slowness 1 for the usual speed; a smaller value is faster
 */
export function randomPlan(name: string, random: Random, slowness = 1): Plan {
  const steps: PlanStep[] = [];
  const count = 2 + Math.floor(random() * 2);
  for (let n = 0; n < count; n++) {
    const calls: PlanCall[] = [];
    const kind = random();
    if (kind < 0.35) {
      for (const side of ["left", "right"])
        calls.push({ tool: "helper", plan: subPlan(`${name}.${n}.${side}`, random, slowness) });
      if (random() < 0.5) calls.push(toolCall(`${name}.${n}.beside`, random, slowness));
    } else if (kind < 0.5) {
      calls.push({ tool: "share_thought", thought: `thought of ${name}.${n}: ${randomText(random, 6)}` });
    } else {
      const tools = 1 + Math.floor(random() * 3);
      for (let t = 0; t < tools; t++) calls.push(toolCall(`${name}.${n}.${t}`, random, slowness));
    }
    const text = random() < 0.3 ? `Meanwhile ${randomText(random, 5)}` : "";
    steps.push({ think: `Step ${n}: ${randomText(random, 8)}`, text, calls });
  }
  return {
    name,
    steps,
    final: `Done with ${name}: ${randomText(random, 12)}`,
    paceMs: slowness * (10 + random() * 40),
  };
}

function subPlan(name: string, random: Random, slowness: number): Plan {
  const step = {
    think: `Sub ${randomText(random, 5)}`,
    text: "",
    calls: [toolCall(`${name}.a`, random, slowness), toolCall(`${name}.b`, random, slowness)],
  };
  return { name, steps: [step], final: `Answer of ${name}`, paceMs: slowness * (10 + random() * 40) };
}

function toolCall(key: string, random: Random, slowness: number): PlanCall {
  return {
    tool: random() < 0.5 ? "again" : "once",
    key,
    ms: Math.floor(slowness * (50 + random() * random() * 2_500)),
  };
}

/** Returns the keys of the calls to the tool that is not idempotent, those of sub-agents included. */
export function listOnceKeys({ steps }: Plan): string[] {
  return steps.flatMap(({ calls }) =>
    calls.flatMap((each) =>
      "plan" in each ? listOnceKeys(each.plan) : "key" in each && each.tool === "once" ? [each.key] : [],
    ),
  );
}
