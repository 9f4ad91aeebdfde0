/** Tests that a page shows every history that 004 prints, read by the code of the `blocks` client. */
import { blocks } from "@turnstream/conformance/support/codecs.ts";
import { HISTORIES_004 } from "@turnstream/conformance/printed/document-004.ts";
import type { SessionEvent } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { historyToFrames, readHistoryPage } from "../../packages/dialects/src/blocks/history-frames.ts";
import { openRecorded, start, withRecordedPages } from "./recorded-page.ts";
import { openAll } from "./screen.ts";
import { readOutline } from "./story/outline.ts";

withRecordedPages();

function readEvents(response: unknown): SessionEvent[] {
  const events: SessionEvent[] = [];
  let decoder = blocks.start;
  for (const frame of historyToFrames(readHistoryPage(response), "harbour-7")) {
    const step = blocks.decode(decoder, frame);
    decoder = step.decoder;
    events.push(...step.events);
  }
  return events;
}

/** The lines of a thread for the outline of a history. A group with one entry has no header of its own. */
const ON_SCREEN: Readonly<Record<string, readonly string[]>> = {
  "19-51": ["text: I check the pier.", "done: Reading the timetable"],
  "133-160": ["thought: Piers close at night."],
  "168-237": [
    "you: when is the next ferry",
    "text: Hello! I look it up.",
    "group: Reading the timetable",
    "done: Planning",
    "done: Reading the timetable",
    "text: The next ferry leaves at 14:20.",
  ],
};

test.each(HISTORIES_004.map((each) => [each.lines, each.about, each.messages] as const))(
  "H06 the history in lines %s is shown as groups and content: %s",
  async (lines, _about, messages) => {
    const page = await openRecorded();
    await start(page, readEvents(messages));
    await openAll(page);
    await expect.poll(() => readOutline(page)).toEqual(ON_SCREEN[lines]);
  },
);
