/**
 * `CaseRecorder` collects examples for the rules of a valid log. Each example names the rule that it breaks, and the
 * recorder compares that with `checkEvent`. So no wrong example gets into the vectors.
 */
import { type SessionEvent, SCHEMA_VERSION } from "@turnstream/protocol";
import { type EventDraft, checkEvent } from "@turnstream/protocol/writer";
import type { EventRule } from "../../../../packages/protocol/src/check-event/rules.ts";
import { Story } from "../story.ts";
import type { LegalCase } from "../vector-types.ts";

type Stamp = { readonly id?: string; readonly first?: number };

export class CaseRecorder {
  readonly cases: LegalCase[] = [];

  /** Adds an event that may follow here. */
  legal(log: Story, name: string, draft: EventDraft, stamp: Stamp = {}): void {
    this.record(log, null, name, draft, stamp);
  }

  /** Adds an event that must not follow here, with the rule that it breaks. */
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

/** A log with a turn that has just started. */
export function startedStory(): Story {
  return new Story().session("ses_rule", 1).begin("Go");
}

/** A log with an ended call of the main run, and the id of the call. */
export function called(name = "look_up"): { log: Story; call: string } {
  const log = startedStory();
  return { log, call: log.call(name, ["{}"]) };
}

/** A log with a running sub-agent under the open result of a call. */
export function delegated(): { log: Story; call: string; on: ReturnType<Story["place"]>; run: string } {
  const { log, call } = called("call_agent");
  const on = log.startResult(call, "call_agent");
  return { log, call, on, run: log.startRun(call, "helper") };
}

/** The block of the last event. */
export function lastBlock(log: Story): string {
  const last = log.events.at(-1);
  if (last === undefined || !("block" in last)) throw new Error("the last event is about no block");
  return last.block;
}
