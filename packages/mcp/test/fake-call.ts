/** `Caller` is an agent that makes scripted calls, one per step, and records the input of the model. */
import { script } from "../../server/src/models/script-parts.ts";
import { type ScriptCall, scriptedModel } from "../../server/src/models/scripted-model.ts";
import { type Agent, defineAgent } from "../../server/src/agent/define/agent.ts";
import type { ToolSource } from "../../server/src/agent/define/tool-source.ts";

export type Wanted = readonly [name: string, input?: Record<string, unknown>];

export class Caller {
  readonly agent: Agent;
  readonly steps: ScriptCall[] = [];
  /** The model waits for this before its second call. */
  ready: Promise<unknown> = Promise.resolve();

  constructor(
    source: ToolSource,
    calls: readonly Wanted[] | ((step: ScriptCall) => Wanted),
    limits: { toolTimeoutMs?: number } = {},
  ) {
    this.agent = defineAgent({
      name: "caller",
      model: scriptedModel(
        (step) => {
          this.steps.push(step);
          const wanted =
            typeof calls === "function" ? (step.step === 0 ? calls(step) : undefined) : calls[step.step];
          if (wanted === undefined) return [script.text("done")];
          const wanting = script.toolCall(wanted[0], wanted[1] ?? {});
          return step.step === 0 ? [wanting] : [script.delay(1), wanting];
        },
        { sleep: () => this.ready },
      ),
      toolSources: [source],
      limits,
    });
  }

  get offered(): string[] {
    return this.steps[0]?.tools.map(({ name }) => name) ?? [];
  }

  /** The tool results that the model received. */
  get results(): unknown[] {
    return (this.steps.at(-1)?.prompt ?? []).flatMap((message) =>
      message.role === "tool"
        ? message.content.flatMap((part) =>
            part.type === "tool-result" && "value" in part.output ? [part.output.value] : [],
          )
        : [],
    );
  }
}
