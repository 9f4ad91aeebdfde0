/** Provides logs of whole threads: long ones, and the stories and scenarios of the conformance tests. */
import { blocks } from "@turnstream/conformance/support/codecs.ts";
import { listEvents, SCENARIOS } from "@turnstream/conformance/scenarios/index.ts";
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { SessionEvent } from "@turnstream/protocol";
import type { BlocksFrame } from "@turnstream/protocol/blocks";
import { pieces, step } from "./writing.ts";

/** Writes a thread with this many messages, and a group in every tenth turn. */
export function longThread(messages: number): Story {
  const log = new Story({ check: false }).session("ses_long", 8);
  for (let n = 0; n < messages / 2; n++) {
    log.begin(`Question ${n + 1}: how did day ${n + 1} go?`);
    if (n % 10 === 0) {
      log.openGroup();
      step(log, "get_index", "Reading the VN-Index", String(1200 + n));
      log.closeGroup("Read the index");
    }
    const text = `Day ${n + 1} closed at **${1200 + n}**, ${n % 3 === 0 ? "down" : "up"} a little.\n\n- volume ${n * 3 + 40} million\n- foreign sellers as before`;
    log.text([text], { final: true }).end().wait(30);
  }
  return log;
}

export const scenarios: Readonly<Record<string, () => readonly SessionEvent[]>> = Object.fromEntries(
  Object.entries(SCENARIOS).map(([name, scenario]) => [name, () => listEvents(scenario)]),
);

/** The recorded `blocks` frames of each story, by path. */
const written = import.meta.glob<string>("../../conformance/stories/*/blocks.ndjson", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Decodes the log of a story as a client of the `blocks` dialect receives it, at a readable pace. */
function decoded(frames: string): readonly SessionEvent[] {
  let { start: decoder } = blocks;
  const events: SessionEvent[] = [];
  for (const line of frames.split("\n")) {
    if (line === "") continue;
    const next = blocks.decode(decoder, JSON.parse(line) as BlocksFrame);
    ({ decoder } = next);
    events.push(...next.events.flatMap(streamed));
  }
  return paced(events);
}

/** Splits one delta into several, as a model would have sent it. */
function streamed(event: SessionEvent): SessionEvent[] {
  if (event.type !== "text.delta" && event.type !== "thinking.delta") return [event];
  if (event.type === "text.delta" && event.annotations !== undefined) return [event];
  return pieces(event.text).map((text) => ({ ...event, text }));
}

const PAUSES: Readonly<Record<string, number>> = {
  "tool_result.start": 900,
  "approval.update": 3000,
  "question.update": 3000,
  "form.update": 3000,
  "group.end": 400,
  "turn.start": 300,
};

function paced(events: readonly SessionEvent[]): SessionEvent[] {
  let at = 1_800_000_000_000;
  return events.map((event, n) => {
    at += PAUSES[event.type] ?? 40;
    const [epoch] = event.id.split("-");
    const due = "timeout_seconds" in event ? { deadline: at + event.timeout_seconds * 1000 } : {};
    // Frames of `blocks` don't name the agent.
    const agent = event.type === "turn.start" || isMain(event) ? { agent: "market" } : {};
    return { ...event, ...due, ...agent, id: `${epoch ?? "1"}-${n + 1}`, at };
  });
}

const isMain = (event: SessionEvent): boolean => event.type === "run.start" && event.parent === undefined;

export const stories: Readonly<Record<string, () => readonly SessionEvent[]>> = Object.fromEntries(
  Object.entries(written).map(([path, frames]) => [path.split("/").at(-2) ?? path, () => decoded(frames)]),
);
