/**
 * Collects examples for the rules of a legal log. Whoever writes one says which rule it breaks, and the
 * collector holds that against `legal`: an example that means something else never gets into the vectors.
 */
import { type SessionEvent, SCHEMA_VERSION } from "@turnstream/protocol";
import { type EventDraft, checkEvent, type EventRule } from "@turnstream/protocol/writer";
import { Story } from "../story.ts";
import type { LegalCase } from "../vector-types.ts";

type Stamp = { readonly id?: string; readonly first?: number };

export class CaseRecorder {
  readonly cases: LegalCase[] = [];

  /** The event may follow here. */
  legal(log: Story, name: string, draft: EventDraft, stamp: Stamp = {}): void {
    this.record(log, null, name, draft, stamp);
  }

  /** The event may not follow here, by that rule. */
  illegal(log: Story, rule: EventRule, name: string, draft: EventDraft, stamp: Stamp = {}): void {
    this.record(log, rule, name, draft, stamp);
  }

  private record(log: Story, rule: EventRule | null, name: string, draft: EventDraft, stamp: Stamp): void {
    const { epoch, seq } = log.state;
    const id = `${draft.type === "turn.takeover" ? epoch + 1 : Math.max(epoch, 1)}-${seq + 1}`;
    const event = { v: SCHEMA_VERSION, id, at: log.now, ...stamp, ...draft } as SessionEvent;
    const broken = checkEvent(log.state, event)?.rule ?? null;
    if (broken !== rule) throw new Error(`"${name}" was to break ${rule} and breaks ${broken}`);
    const events = [...log.events];
    this.cases.push(
      rule === null ? { name, legal: true, events, event } : { name, legal: false, rule, events, event },
    );
  }
}

/** A log with a turn that has just begun. */
export function startedStory(): Story {
  return new Story().session("ses_rule", 1).begin("Go");
}

/** A call of the main run that has ended, and its id. */
export function called(name = "look_up"): { log: Story; call: string } {
  const log = startedStory();
  return { log, call: log.call(name, ["{}"]) };
}

/** A sub-agent at work under the open result of a call. */
export function delegated(): { log: Story; call: string; on: ReturnType<Story["place"]>; run: string } {
  const { log, call } = called("call_agent");
  const on = log.startResult(call, "call_agent");
  return { log, call, on, run: log.startRun(call, "helper") };
}

/** The block that the last event was about. */
export function lastBlock(log: Story): string {
  const last = log.events.at(-1);
  if (last === undefined || !("block" in last)) throw new Error("the last event is about no block");
  return last.block;
}
