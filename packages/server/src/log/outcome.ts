/** What an engine's answer to a write means for its writer: positions, or a typed refusal. Pure. */
import { formatCursor } from "@turnstream/protocol";
import type { Outcome } from "./engine.ts";
import { LogError } from "./errors.ts";
import type { Appended } from "./log.ts";

export function appendedOf(outcome: Outcome, events: number): Appended {
  switch (outcome.type) {
    case "added":
    case "found": {
      const { epoch, seq } = outcome.last;
      return { epoch, first: seq - events + 1, last: seq, repeated: outcome.type === "found" };
    }
    case "fenced":
      throw new LogError("FENCED", { epoch: outcome.epoch, detail: `The log is in epoch ${outcome.epoch}` });
    case "outbid":
      throw new LogError("OUTBID", { epoch: outcome.epoch, detail: `The log is in epoch ${outcome.epoch}` });
    case "moved":
      throw new LogError("MOVED", { detail: `The log ends at ${formatCursor(outcome.last)}` });
    case "unclaimed":
      throw new LogError("UNCLAIMED", { detail: outcome.detail });
    case "unsure":
      throw new LogError("UNSURE");
  }
}
