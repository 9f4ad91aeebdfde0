/** Tests which texts screen readers announce during whole recorded logs. */
import { emptyState, type SessionEvent, fold, foldAll, Sequence } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import {
  type AnnouncementOptions,
  ENGLISH_ANNOUNCEMENTS,
  listAnnouncements,
} from "../../src/view/announcements.ts";
import { eventsOf } from "./vector-logs.ts";

const OPTIONS: AnnouncementOptions = {
  ...ENGLISH_ANNOUNCEMENTS,
  describeError: (notice) => notice?.text || "Something went wrong.",
  describeStatus: (status) => `<${status}>`,
  agentName: (agent) => `[${agent}]`,
};

/** Returns all announcements while a log arrives, event by event. Urgent ones start with "!". */
function announce(events: readonly SessionEvent[]): string[] {
  let state = emptyState;
  return events.flatMap((event) => {
    const before = state;
    state = fold(state, event);
    return listAnnouncements(before, state, OPTIONS).map(({ text, isUrgent }) =>
      isUrgent ? `! ${text}` : text,
    );
  });
}

const STARTED = "[market] is working.";
const DONE = "[market] is done.";

describe("listAnnouncements during a recorded log", () => {
  test.each([
    ["plain-answer", [STARTED, DONE]],
    ["shared-thought-and-question", [STARTED, "A question for you: Bạn ăn lúc nào?", DONE]],
    [
      "approved-and-edited",
      [STARTED, "Your approval is needed: 发邮件.", "Your approval is needed: 订会议室.", DONE],
    ],
    ["error-and-retry", [STARTED, "! Failed. The model did not answer. Try again.", STARTED, DONE]],
    ["stopped", [STARTED, "Stopped."]],
    ["sub-agents", [STARTED, DONE]],
    [
      "payment-settles-later",
      [
        STARTED,
        "A payment is due: 演唱會門票 x2 🎫.",
        "Payment for 演唱會門票 x2 🎫: <processing>.",
        STARTED,
        "Payment for 演唱會門票 x2 🎫: <succeeded>.",
        DONE,
        STARTED,
        "A payment is due: 節目冊.",
        "Payment for 節目冊: <cancelled>.",
      ],
    ],
    ["form-and-resume", [STARTED, "A form to fill in: 签证申请表.", STARTED, DONE]],
    ["takeover", [STARTED, DONE]],
  ])("announces the turns of %s", (name, texts) => {
    expect(announce(eventsOf(name))).toEqual(texts);
  });
});

describe("listAnnouncements", () => {
  const events = eventsOf("several-turns");
  const all = foldAll(events);

  test("doesn't announce what existed when the page was opened", () => {
    expect(listAnnouncements(emptyState, all, OPTIONS)).toEqual([]);
  });

  test("S08 interrupts for a failed payment, and announces only the last of several changes at once", () => {
    const log = eventsOf("payment-settles-later");
    const asked = log.findIndex(({ type }) => type === "payment.request") + 1;
    const before = foldAll(log.slice(0, asked));
    const changes = log.filter(({ type }) => type === "payment.update");
    const after = changes.map((event, n) => {
      const id = `1-${asked + n + 1}`;
      return (n === 0 ? { ...event, id } : { ...event, id, status: "failed" }) as SessionEvent;
    });
    expect(listAnnouncements(before, foldAll(after, before), OPTIONS)).toEqual([
      { text: "Payment for 演唱會門票 x2 🎫: <failed>.", isUrgent: true },
    ]);
  });

  test("doesn't announce older turns that are loaded", () => {
    const window = { ...all, turns: Sequence.from(all.turns.toArray().slice(-1)) };
    expect(listAnnouncements(window, all, OPTIONS)).toEqual([]);
  });

  test("announces an interaction that is pending when the page is opened", () => {
    const log = eventsOf("approved-and-edited");
    const asked = log.findIndex(({ type }) => type === "approval.request");
    const state = foldAll(log.slice(0, asked + 1));
    expect(listAnnouncements(emptyState, state, OPTIONS)).toEqual([
      { text: "Your approval is needed: 发邮件.", isUrgent: false },
    ]);
  });
});
