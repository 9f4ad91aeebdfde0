/** Tests how a thread shows steps: details of calls, artifacts of groups, waiting and stopped work, and retried errors. */
import { createStaticSession } from "@turnstream/client/static";
import { Story } from "@turnstream/conformance/scenarios/story.ts";
import type { Artifact } from "@turnstream/protocol";
import { renderToString } from "react-dom/server";
import { beforeAll, describe, expect, test } from "vitest";
import type { ToolDetails } from "../../src/context.ts";
import { preload } from "../../src/default-components.ts";
import { SessionProvider } from "../../src/provider.tsx";
import { Thread } from "../../src/thread/thread.tsx";

beforeAll(preload);

interface Details {
  readonly onProvider?: ToolDetails;
  readonly onThread?: ToolDetails;
}

function draw({ events }: Story, { onProvider, onThread }: Details = {}): string {
  const page = renderToString(
    <SessionProvider
      session={createStaticSession(events)}
      {...(onProvider !== undefined && { toolDetails: onProvider })}
    >
      <Thread {...(onThread !== undefined && { toolDetails: onThread })} />
    </SessionProvider>,
  );
  return page.replaceAll("<!-- -->", "");
}

const begin = (): Story => new Story({ check: false }).session("ses_steps", 1).begin("How is VNM?");

/** Writes a call without its result. */
function startCall(log: Story, label: string): ReturnType<Story["place"]> {
  const call = log.call("get_price", ['{"symbol":"VNM"}'], { label });
  return log.startResult(call, "get_price", { label });
}

function runCall(log: Story, label: string, artifact: Artifact | null = null): Story {
  const end = { status: "success", preview: "82,000 VND", artifact } as const;
  log.add({ type: "tool_result.end", ...startCall(log, label), ...end });
  return log;
}

const count = (page: string, text: string): number => page.split(text).length - 1;
const PANEL = 'class="ts-panel"';

describe("the details of a call", () => {
  const running = begin();
  startCall(running, "Reading the price");
  const ended = runCall(begin(), "Reading the price").end();
  const inGroup = begin().openGroup();
  startCall(inGroup, "Reading the price");

  test.each<[ToolDetails, running: number, ended: number, inGroup: number]>([
    ["auto", 1, 0, 0],
    ["closed", 0, 0, 0],
    ["open", 1, 2, 1],
    ["hidden", 0, 0, 0],
  ])("are shown with %s", (details, ...expected) => {
    const seen = [running, ended, inGroup].map((log) => count(draw(log, { onProvider: details }), PANEL));
    expect(seen).toEqual(expected);
  });

  test("can be opened, unless they are hidden", () => {
    expect(draw(ended, { onProvider: "closed" })).toMatch(/<button[^>]*aria-expanded="false"[^>]*>.*82,000/s);
    const hidden = draw(ended, { onProvider: "hidden" });
    expect(hidden).not.toContain("aria-expanded");
    expect(hidden).toContain("82,000 VND");
  });

  test("follow the prop of the thread rather than that of the provider", () => {
    expect(count(draw(running, { onProvider: "open", onThread: "closed" }), PANEL)).toBe(0);
    expect(count(draw(ended, { onThread: "open" }), PANEL)).toBe(2);
  });

  test("are cut if they are long", () => {
    const log = begin();
    const data = JSON.stringify({ text: "x".repeat(20_000) });
    log.endResult(startCall(log, "Reading the price"), data);
    const page = draw(log.end(), { onProvider: "open" });
    expect(page).toContain("Show all");
    expect(page.length).toBeLessThan(12_000);
  });
});

describe("a group", () => {
  const table: Artifact = { type: "table", title: "Prices", data: { columns: ["A"], rows: [["1"]] } };

  test("that has ended is folded, and the artifact of its call stands below it", () => {
    const log = runCall(runCall(begin().openGroup(), "Reading the index", table), "Reading the price");
    const page = draw(log.closeGroup("Read both").text(["82,000."], { final: true }).end());
    expect(page).not.toContain("Reading the index");
    expect(page).toMatch(/Read both.*Prices.*82,000\./s);
  });

  test("with one call shows its label once, while it runs and afterwards", () => {
    const log = begin().openGroup();
    const on = startCall(log, "Reading the price");
    expect(count(draw(log), "Reading the price")).toBe(1);
    log.endResult(on, "82,000 VND").closeGroup("Reading the price").end();
    expect(count(draw(log), "Reading the price")).toBe(1);
  });

  test("that waits for the user shows that, and the card instead of the line of the call", () => {
    const log = runCall(begin().openGroup(), "Reading the price");
    const call = log.call("place_order", ["{}"], { label: "Ordering" });
    const actions = [{ name: "place_order", label: "Order VNM", input: {} }];
    const request = { key: "k", call, actions, editable: false, digest: "d", deadline: null };
    log.add({ type: "approval.request", ...log.place(), ...request } as never);
    const page = draw(log);
    expect(page).toContain("waiting for you");
    expect(page).not.toContain(">running<");
    expect(page).not.toContain("ts-shimmer");
    // The header has it. The card has a title of its own.
    expect(count(page, "Ordering")).toBe(1);
    expect(page).toContain("Order VNM");
  });

  test("that was stopped shows that, and its call has a red dot", () => {
    const log = runCall(begin().openGroup(), "Reading the index");
    log.endResult(startCall(log, "Scanning"), "", { status: "cancelled" }).closeGroup("Scanning");
    const page = draw(log.end("user_stopped"), { onProvider: "auto" });
    expect(page).toMatch(/2 steps[^<]* · stopped/);
    const alone = begin();
    alone.endResult(startCall(alone, "Scanning"), "", { status: "cancelled" }).end("user_stopped");
    expect(draw(alone)).toMatch(/data-dot="error"><span class="ts-sr">stopped<.*Scanning.*>stopped</s);
  });
});

test("the answer of a sub-agent is shown once", () => {
  const log = begin().openGroup();
  const call = log.call("analyst", ['{"task":"VNM"}'], { label: "Asking the analyst" });
  const on = log.startResult(call, "analyst", { label: "Asking the analyst" });
  const run = log.startRun(call, "analyst");
  expect(count(draw(log), PANEL)).toBe(0);
  log.text(["VNM is cheap."], { part: true, run }).endRun(run);
  log.endResult(on, "VNM is cheap.").closeGroup("Asking the analyst").end();
  expect(count(draw(log), "VNM is cheap.")).toBe(1);
  expect(count(draw(log, { onProvider: "open" }), "VNM is cheap.")).toBe(1);
});

test("the error of a turn is shown until the turn is retried", () => {
  const log = begin();
  const turn = log.turn;
  const error = { code: "LLM_ERROR", can_retry: true, error_type: "transient" } as const;
  log.add({ type: "notice.error", ...log.place(), text: "The model is busy.", ...error });
  log.end("error");
  expect(draw(log)).toContain("ts-error");
  log.next({ retries: turn }).begin("How is VNM?");
  expect(draw(log)).not.toContain("ts-error");
});
