/** Writes logs of groups of steps (`groupOf`) and of sub-agents (`subAgent`). */
import type { Story } from "@turnstream/conformance/scenarios/story.ts";
import { table } from "./artifacts.ts";
import { concluded, pieces, step, story } from "./writing.ts";

const STEPS = [
  ["get_index", "Reading the VN-Index", "1,284.6 (−0.8%)"],
  ["get_price", "Looking up VNM", "82,000 VND"],
  ["get_price", "Looking up MCH", "141,300 VND"],
  ["search_articles", "Searching for reports", "4 articles"],
  ["read_page", "Reading the rate decision", "3 pages"],
  ["get_portfolio", "Reading the portfolio", "12 positions"],
  ["compute", "Working out the exposure", "31% consumer goods"],
] as const;

const SUMMARY = "Looked up prices and reports of the session";

/** @param fails the index of the step that fails; -1 for none */
function group(count: number, fails = -1): Story {
  const log = story("How did the session go?");
  log.openGroup();
  if (count > 3) log.think(pieces("Prices first, then what moved them."));
  for (const [n, [name, label, result]] of STEPS.slice(0, count).entries()) {
    if (n !== fails) {
      step(log, name, label, result, { symbol: label.split(" ").at(-1), session: "2026-03-25" });
      continue;
    }
    const call = log.call(name, ["{}"], { label });
    const on = log.wait(0.3).startResult(call, name, { label });
    log.wait(0.5).endResult(on, "No permission to read the portfolio.", { status: "error" });
  }
  log.wait(0.3).closeGroup(SUMMARY);
  return log;
}

const ANSWER = "The index fell **0.8%**; your consumer goods did better than the market.";

export const groupOf = (count: number): Story => concluded(group(count).wait(1), ANSWER);
export const groupWithFailure = (): Story => concluded(group(7, 5).wait(1), ANSWER);

export function groupInHistory(): Story {
  const log = concluded(group(7), ANSWER);
  log.wait(40).begin("Thank you!");
  return concluded(log, "You are welcome.");
}

export function groupsAndTexts(): Story {
  const log = group(3);
  log.text(pieces("The prices are in. Now the portfolio."), { part: true });
  log.openGroup();
  step(log, "get_portfolio", "Reading the portfolio", "12 positions");
  step(log, "compute", "Working out the exposure", "31% consumer goods");
  log.closeGroup("Compared the portfolio with the market");
  return concluded(log, ANSWER);
}

/** A group whose second step shows a table. */
export function groupWithArtifact(): Story {
  const log = story("How did the session go?");
  log.openGroup();
  step(log, "get_index", "Reading the VN-Index", "1,284.6 (−0.8%)");
  const call = log.call("show_movers", ["{}"], { label: "Looking for the largest moves" });
  const on = log.startResult(call, "show_movers", { label: "Looking for the largest moves" });
  log
    .wait(1)
    .add({ type: "tool_result.end", ...on, status: "success", preview: "4 stocks", artifact: table });
  step(log, "search_articles", "Searching for reports", "4 articles");
  log.closeGroup(SUMMARY);
  return concluded(log, ANSWER);
}

/** A group that the user stopped. */
export function groupStopped(): Story {
  const log = story("How did the session go?");
  log.openGroup();
  step(log, "get_index", "Reading the VN-Index", "1,284.6 (−0.8%)");
  const call = log.call("scan_market", ["{}"], { label: "Scanning the market" });
  const on = log.startResult(call, "scan_market", { label: "Scanning the market" });
  const data = "Scanned 400 of 1,600";
  log.add({ type: "tool_result.delta", ...on, part: 0, media: "text", data, done: false });
  log.wait(2).endResult(on, "", { status: "cancelled" });
  log.closeGroup("Scanning the market");
  const notice = { text: "You stopped this.", by: "usr_an", template: { code: "STOPPED" } } as const;
  log.add({ type: "notice.stopped", ...log.place(), ...notice });
  log.end("user_stopped");
  return log;
}

interface Asked {
  readonly call: string;
  readonly on: ReturnType<Story["place"]>;
  readonly run: string;
}

function ask(log: Story, agent: string, label: string): Asked {
  const call = log.call("call_agent", [`{"agent":"${agent}","task":"VNM"}`], { label });
  const on = log.startResult(call, "call_agent", { label });
  return { call, on, run: log.startRun(call, agent) };
}

function work(log: Story, run: string, name: string, label: string, result: string): void {
  const call = log.call(name, ['{"symbol":"VNM"}'], { label, run });
  const on = log.wait(0.4).startResult(call, name, { label, run });
  log.wait(0.7).endResult(on, result);
}

export function subAgent(status: "completed" | "failed" = "completed"): Story {
  const log = story("What does the analyst think of VNM?");
  log.openGroup();
  const { on, run } = ask(log, "analyst", "Asking the analyst");
  log.think(pieces("Price to earnings first, then the sector."), run);
  work(log, run, "compute", "Working out P/E", "16.4");
  work(log, run, "search_articles", "Comparing the sector", "18.2 on average");
  if (status === "completed") log.text(pieces("VNM is cheaper than its sector."), { part: true, run });
  log.endRun(run, status);
  const isDone = status === "completed";
  log.endResult(
    on,
    isDone ? "VNM is cheaper than its sector." : "The analyst gave up: no data for the sector.",
    {
      status: isDone ? "success" : "error",
    },
  );
  log.closeGroup("Asked the analyst");
  return concluded(log, isDone ? "The analyst finds VNM **cheap**." : "The analyst could not help.");
}

/** An approval that a sub-agent waits for. */
export function subAgentThatAsks(): Story {
  const log = story("Let the analyst order the report.");
  log.openGroup();
  const { run } = ask(log, "analyst", "Asking the analyst");
  work(log, run, "search_reports", "Looking for the report", "1 report, 20 USD");
  const input = { report: "VNM, Q1 2026", price: 20, currency: "USD" };
  const call = log.call("buy_report", [JSON.stringify(input)], { label: "Buying the report", run });
  const due = { timeout_seconds: 300, deadline: log.now + 300_000 };
  const actions = [{ name: "buy_report", label: "Buy the report", input }];
  const asked = { key: "ses_gallery_1", call, actions, editable: true, digest: "d_1", ...due };
  log.add({ type: "approval.request", ...log.place(run), ...asked });
  return log;
}

export function twoSubAgents(): Story {
  const log = story("Analyst and lawyer: may I buy VNM?");
  log.openGroup();
  const analyst = ask(log, "analyst", "Asking the analyst");
  const lawyer = ask(log, "lawyer", "Asking the lawyer");
  work(log, analyst.run, "compute", "Working out P/E", "16.4");
  work(log, lawyer.run, "search_law", "Looking for limits of ownership", "49%");
  log.text(pieces("Cheaper than its sector."), { part: true, run: analyst.run }).endRun(analyst.run);
  log.endResult(analyst.on, "Cheaper than its sector.");
  log.text(pieces("No limit applies to you."), { part: true, run: lawyer.run }).endRun(lawyer.run);
  log.endResult(lawyer.on, "No limit applies to you.").closeGroup("Asked the analyst and the lawyer");
  return concluded(log, "Both see nothing against it.");
}
