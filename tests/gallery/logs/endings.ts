/**
 * Writes logs of turns that end early (`stopped`, `failed`), of files that are read first, of citations, and of
 * messages.
 */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { EventOf, FileRef } from "@turnstream/protocol";
import { answered, concluded, pieces, step, story } from "./writing.ts";

export function stopped(): Story {
  const log = story("Write the long report.");
  log.openGroup();
  step(log, "get_index", "Reading the VN-Index", "1,284.6");
  log.closeGroup("Read the index");
  const on = log.place();
  log.add({ type: "text.start", ...on, part: false });
  for (const text of pieces("The session started slowly, and then"))
    log.add({ type: "text.delta", ...on, text });
  log.add({ type: "text.end", ...on, final: false });
  log.add({
    type: "notice.stopped",
    ...log.place(),
    text: "You stopped this answer. Send a message to continue.",
    by: "usr_an",
    template: { code: "STOPPED" },
  });
  log.end("user_stopped");
  return log;
}

type Failure = Pick<EventOf<"notice.error">, "text" | "code" | "can_retry" | "error_type">;

export function failed(failure: Failure): Story {
  const log = story("Write a haiku about Sa Pa.");
  log.text(pieces("Terraces of rice,"), { part: true });
  log.wait(2).add({ type: "notice.error", ...log.place(), ...failure });
  log.end("error");
  return log;
}

/** A failed turn, and the turn that retries it. A retry has no message of its own. */
export function retried(failure: Failure): Story {
  const log = failed(failure);
  const [turn, run] = ["turn_retry", "turn_retry/main"];
  const details = {
    number: 2,
    message_number: 1,
    agent: "market",
    model: "scripted-1",
    mode: "agent",
    from_share: false,
  } as const;
  log.add({ type: "turn.start", turn, retries: log.turn, ...details });
  log.add({ type: "run.start", turn, run, agent: "market" });
  const on = { turn, run, block: "blk_retry", index: 0 };
  log.add({ type: "text.start", ...on, part: false });
  log.add({ type: "text.delta", ...on, text: "Terraces of rice, and mist that climbs the hill at dawn." });
  log.add({ type: "text.end", ...on, final: true });
  log.add({ type: "run.end", turn, run, status: "completed" });
  log.add({ type: "turn.end", turn, reason: "end_turn", duration_ms: 900 });
  return log;
}

const FILES: readonly FileRef[] = [
  { url: "turnstream:blob/q3", name: "Q3 results.pdf", media_type: "application/pdf", size: 482_133 },
  {
    url: "turnstream:blob/scan",
    name: "scan of the contract, second page.tiff",
    media_type: "image/tiff",
    size: 8_120_004,
  },
];

export function files(isGood: boolean): Story {
  const log = story("Sum these up for me.", { files: FILES });
  const on = log.place();
  log.add({ type: "files.start", ...on, files: [...FILES] });
  log.wait(0.6).add({ type: "files.delta", ...on, status: "processing", message: "Reading Q3 results.pdf" });
  log.wait(0.8).add({ type: "files.delta", ...on, status: "completed", message: "", file: 0 });
  log.wait(0.8);
  if (isGood) {
    log.add({ type: "files.delta", ...on, status: "completed", message: "", file: 1 });
    log.add({ type: "files.end", ...on, status: "completed", message: "Read 2 files" });
  } else {
    log.add({ type: "files.delta", ...on, status: "failed", message: "scan.tiff can't be read", file: 1 });
    log.add({ type: "files.end", ...on, status: "failed", message: "Read 1 of 2 files" });
  }
  return concluded(log, "Revenue rose by **12%**.");
}

export const messageWithFiles = (): Story =>
  concluded(story("Sum these up for me.", { files: FILES }), "Revenue rose by **12%**.");

export function citations(): Story {
  const log = story("What is the weather like in Hà Nội?");
  log.openGroup();
  const call = log.call("search_web", ['{"query":"weather Hà Nội"}'], { label: "Searching the web" });
  const on = log.startResult(call, "search_web", { label: "Searching the web" });
  const found = [
    { id: 1, title: "Forecast for Saturday", url: "https://weather.example/ha-noi" },
    { id: 2, title: "Air quality, hourly", url: "https://air.example/ha-noi" },
    { id: 3, title: "A note of yours" },
  ];
  for (const [part, reference] of found.entries()) {
    const line = { type: "tool_result.delta", ...on, part, media: "text", done: true } as const;
    log.wait(0.3).add({ ...line, data: `${reference.title}: …`, reference });
  }
  log.add({
    type: "tool_result.end",
    ...on,
    status: "success",
    preview: "3 results",
    artifact: null,
    results: 3,
  });
  log.closeGroup("Searched the web");
  const text = log.place();
  log.add({ type: "text.start", ...text, part: false });
  let length = 0;
  for (const [sentence, reference] of [
    ["Sunny, 31°C", 1],
    [", with moderate air", 2],
    [", and you like it so", 3],
  ] as const) {
    log.add({ type: "text.delta", ...text, text: `${sentence} ` });
    const start = length + sentence.length + 1;
    log.add({
      type: "text.delta",
      ...text,
      text: `[^${reference}]`,
      annotations: [{ reference, start, end: start + 4 }],
    });
    length = start + 4;
  }
  log.add({ type: "text.delta", ...text, text: "." });
  log.add({ type: "text.end", ...text, final: true });
  log.end();
  return log;
}

export function waitingMessage(): Story {
  const log = story("Recommend a novel.");
  const on = log.place();
  log.add({ type: "text.start", ...on, part: false });
  log.add({ type: "text.delta", ...on, text: "Try “The Sorrow of War”" });
  const waiting = log.queue("And a book of poems?");
  log.wait(1).add({ type: "text.delta", ...on, text: ", by Bảo Ninh." });
  log.add({ type: "text.end", ...on, final: true });
  log.end().takeUp(waiting);
  return concluded(log, "“Truyện Kiều”.");
}

export const longMessage = (): Story =>
  answered(
    `Here is what I have:\n\n${"- 100 shares of VNM, bought at 79,400, for the long term, not for sale\n".repeat(14)}\nWhat would you sell first?`,
    "Nothing yet.",
  );
