/** `vectorFiles` returns the path below `vectors/` and the text of every vector file. Does not access the disk. */
import { EVENT_RULES } from "../../../../packages/protocol/src/check-event/rules.ts";
import { legalCases } from "../cases/legal.ts";
import { oddEvents } from "../cases/odd-events.ts";
import { listEvents, SCENARIOS } from "../index.ts";
import type { LegalVector } from "../vector-types.ts";
import { blocksVector, responsesVector, tasksVector } from "./dialects.ts";
import { foldVector } from "./fold.ts";
import { handoffVector } from "./handoff.ts";
import { formatJson } from "./layout.ts";
import { cursorsVector, partialJsonVector, placesVector, sseVector, toolTagsVector } from "./small.ts";

export function vectorFiles(): Map<string, string> {
  const files = new Map<string, string>();
  const put = (path: string, value: unknown): void => void files.set(`${path}.json`, formatJson(value));
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    const { description } = scenario;
    const events = listEvents(scenario);
    put(`fold/${name}`, foldVector(description, events));
    put(`dialects/blocks/${name}`, blocksVector(description, events));
    put(`dialects/tasks/${name}`, tasksVector(description, events));
    put(`dialects/responses/${name}`, responsesVector(description, events, false));
    put(`handoff/${name}`, handoffVector(name, description, events));
    if (name === "tool-tags")
      put(`dialects/responses/${name}.included`, responsesVector(description, events, true));
  }
  const odd = "Repeated, overlapping, late, diverged, unknown and illegal events: the fold takes them all.";
  put("fold/odd-events", foldVector(odd, oddEvents()));
  put("dialects/blocks/odd-events", blocksVector(odd, oddEvents()));
  put("dialects/tasks/odd-events", tasksVector(odd, oddEvents()));
  put("dialects/responses/odd-events", responsesVector(odd, oddEvents(), false));
  put("legal", legalVector());
  put("sse", sseVector());
  put("partial-json", partialJsonVector());
  put("tool-tags", toolTagsVector());
  put("cursors", cursorsVector());
  put("places", placesVector());
  return files;
}

function legalVector(): LegalVector {
  const description =
    "For each rule: an event that may follow the given ones, or may not, and by which rule.";
  return { description, rules: EVENT_RULES, cases: legalCases() };
}
