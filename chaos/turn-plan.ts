/**
 * A turn in data: what its model thinks, says and calls, sub-agents included. It is the text of the message, so whichever
 * process has the turn plays the same one, and whoever looks at the turn afterwards knows what it must have come to.
 */

export interface Plan {
  readonly name: string;
  readonly steps: readonly PlanStep[];
  /** What it says last. */
  readonly final: string;
  /** How long the model takes for a piece, at the most. */
  readonly paceMs: number;
  /** Whether what it says last tells which instructions and tools the model was given. */
  readonly echo?: boolean;
  /** Before which step the model is busy for a while: how often, in each process. */
  readonly busy?: { readonly step: number; readonly times: number; readonly ms: number };
}

interface PlanStep {
  readonly think: string;
  /** How often it thinks that, as fast as it can; once when absent. */
  readonly thoughts?: number;
  readonly text: string;
  readonly calls: readonly PlanCall[];
}

export type PlanCall =
  | { readonly tool: PlanTool; readonly key: string; readonly ms: number }
  /** Waits for a person, that many seconds at the most. */
  | { readonly tool: "asked"; readonly key: string; readonly ms: number; readonly wait: number }
  | { readonly tool: "share_thought"; readonly thought: string }
  | { readonly tool: "helper" | "inner" | "passing" | "turning"; readonly plan: Plan };

/** Those after the second are not the same in every version of the agent. */
export type PlanTool = "again" | "once" | "extra" | "added" | "veiled" | "turned" | "turning";

type Random = () => number;

const VOCABULARY = "the quick brown fox jumps over a lazy dog while nobody looks and the log goes on".split(
  " ",
);

export function randomText(random: Random, count: number): string {
  return Array.from({ length: count }, () => VOCABULARY[Math.floor(random() * VOCABULARY.length)]).join(" ");
}

/** What a tool answers; its own key, so that a result in the wrong place is seen. */
export const formatToolResult = (key: string): string => `did ${key}`;

/**
 * A turn of some seconds with something of everything.
 * @param slowness 1 for the usual; less is quicker
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
