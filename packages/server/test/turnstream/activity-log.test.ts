/** Tests the lines that `turnstream()` prints for turns and errors. */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { foldAll, type Turn } from "@turnstream/protocol";
import { describe, expect, test } from "vitest";
import { createActivityLog, describeEnd } from "../../src/turnstream/activity-log.ts";

function turnOf(message: string): Turn {
  const turn = foldAll(
    new LogWriter().session().begin(message).text(["Hi."], { final: true }).end().events,
  ).turns.last();
  if (turn === undefined) throw new Error("the log has a turn");
  return turn;
}

describe("the line of a turn", () => {
  test("has the agent, the outcome, the duration and the message", () => {
    const usage = { calls: 2, input_tokens: 700, output_tokens: 112, total_tokens: 812 };
    const turn: Turn = { ...turnOf("Buy 100 VNM"), agent: "market", duration_ms: 6_900, usage };
    expect(describeEnd(turn)).toBe('market answered, 2 model calls, 812 tokens, 6.9 s "Buy 100 VNM"');
    expect(describeEnd({ ...turn, status: "error", usage: null })).toBe('market failed, 6.9 s "Buy 100 VNM"');
  });

  test("is one line, whatever the message contains", () => {
    const line = describeEnd(turnOf(`first\nsecond\u2028third \u001b[31m${"x".repeat(200)}`));
    // oxlint-disable-next-line no-control-regex -- the test looks for control characters
    expect(line).not.toMatch(/[\u0000-\u001f\u2028]/);
    expect(line.length).toBeLessThan(120);
  });
});

describe("the line of an error", () => {
  test("has a stack only on request", () => {
    const lines: string[] = [];
    const options = {
      print: (line: string) => lines.push(line),
      now: () => new Date(2026, 0, 1, 9, 5, 7),
      secret: "",
    };
    createActivityLog({ ...options, hasSteps: false, hasStacks: false }).onError(new Error("no"), {
      during: "turn t1",
    });
    expect(lines).toEqual(["09:05:07 error in turn t1: no"]);
    createActivityLog({ ...options, hasSteps: false, hasStacks: true }).onError(new Error("no"), {
      during: "turn t1",
    });
    expect(lines[2]).toContain("activity-log.test.ts");
  });
});
