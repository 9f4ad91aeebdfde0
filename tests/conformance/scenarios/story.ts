/**
 * `Story` extends `LogWriter` for scenarios: time that passes, details of the next turn, and a turn that answers a
 * queued message. Deterministic: it never reads a clock.
 */
import type { SessionEvent, EventOf } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { LogWriter } from "../support/log-writer.ts";

const STARTED_AT = 1_800_000_000_000;
const STEP_MS = 40;

type TurnDetails = Partial<
  Pick<EventOf<"turn.start">, "agent" | "model" | "from_share" | "resumes" | "retries" | "locale">
>;

export class Story extends LogWriter {
  private passed = 0;
  private turnDetails: TurnDetails = {};
  private messageDetails: { readonly resumes?: string } = {};
  private takenUp: string | null = null;

  /** The time of the next event. */
  get now(): number {
    return STARTED_AT + (this.state.seq + 1) * STEP_MS + this.passed;
  }

  /** Lets time pass before the next event. */
  wait(seconds: number): this {
    this.passed += seconds * 1000;
    return this;
  }

  /** Sets details of the turn that `begin` starts next. */
  next(details: TurnDetails): this {
    this.turnDetails = details;
    if (details.resumes !== undefined) this.messageDetails = { resumes: details.resumes };
    return this;
  }

  /** Adds a message while a turn is running, and returns its id. */
  queue(text: string): string {
    const message = this.id("msg");
    this.add({ type: "message.add", message, text, by: "usr_an" });
    return message;
  }

  /** Starts the turn that answers a queued message. */
  takeUp(message: string): this {
    this.takenUp = message;
    this.begin("");
    return this;
  }

  override add(draft: EventDraft): SessionEvent {
    const at = { at: this.now };
    if (draft.type === "message.add" && this.takenUp !== null) return this.events.at(-1) as SessionEvent;
    if (draft.type === "message.add" && this.messageDetails.resumes !== undefined) {
      const details = this.messageDetails;
      this.messageDetails = {};
      return super.add({ ...draft, ...details, ...at });
    }
    if (draft.type === "turn.start") {
      const message = this.takenUp === null ? {} : { message: this.takenUp };
      const details = this.turnDetails;
      this.takenUp = null;
      this.turnDetails = {};
      return super.add({ ...draft, ...message, ...details, ...at });
    }
    return super.add({ ...draft, ...at });
  }
}
