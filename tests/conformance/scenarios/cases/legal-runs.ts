/** Examples for the rules of runs, indexes and open blocks: L07 to L11. */
import type { Story } from "../story.ts";
import { startedStory, called, delegated, type CaseRecorder } from "./case-recorder.ts";

export function recordRuns(cases: CaseRecorder): void {
  runStarts(cases);
  runEnds(cases);
  indexes(cases);
  openBlocks(cases);
}

function runStarts(cases: CaseRecorder): void {
  const { log, call } = called("call_agent");
  const { turn, main } = log;
  const run = { type: "run.start", turn, run: "run_9", agent: "helper" } as const;
  cases.illegal(log, "L07", "a second main run", run);
  cases.illegal(log, "L07", "a run with a parent and no call", { ...run, parent: main });
  cases.illegal(log, "L07", "a sub-agent before the result of its call", { ...run, parent: main, call });
  const block = { type: "thinking.start", ...log.place(), run: "run_9" } as const;
  cases.illegal(log, "L07", "a block of a run that has not started", block);
  const on = log.startResult(call, "call_agent");
  cases.legal(log, "a sub-agent under the open result of its call", { ...run, parent: main, call });
  cases.illegal(log, "L07", "a parent that is not running", { ...run, parent: "run_8", call });
  cases.illegal(log, "L07", "a sub-agent of an unknown call", { ...run, parent: main, call: "call_99" });
  const first = log.startRun(call, "helper");
  cases.illegal(log, "L07", "a second sub-agent of the same call", { ...run, parent: main, call });
  cases.illegal(log, "L07", "a sub-agent of another run's call", { ...run, parent: first, call });
  log.endRun(first);
  cases.illegal(log, "L07", "a block of a run that has ended", {
    type: "thinking.start",
    ...log.place(first),
  });
  log.endResult(on, "");
  const other = log.call("call_agent", []);
  log.result(other, "call_agent", "");
  cases.illegal(log, "L07", "a sub-agent under a result that has ended", {
    ...run,
    parent: main,
    call: other,
  });
  hiddenRun(cases);
}

function hiddenRun(cases: CaseRecorder): void {
  const log = startedStory();
  const tool = { call: "call_h", name: "call_agent", label: "", hidden: true };
  const on = log.place();
  log.add({ type: "tool_call.start", ...on, ...tool });
  log.add({ type: "tool_call.end", ...on });
  log.add({ type: "tool_result.start", ...log.place(), ...tool });
  const { turn, main: parent } = log;
  const run = { type: "run.start", turn, run: "run_9", parent, call: "call_h", agent: "helper" } as const;
  cases.illegal(log, "L07", "a sub-agent under a hidden result", run);
}

function endOf(log: Story, run = log.main) {
  return { type: "run.end", turn: log.turn, run, status: "completed" } as const;
}

function runEnds(cases: CaseRecorder): void {
  const open = startedStory();
  const text = open.place();
  open.add({ type: "text.start", ...text, part: false });
  cases.illegal(open, "L08", "a run ends while its text is open", endOf(open));
  open.add({ type: "text.end", ...text, final: true });
  cases.legal(open, "a run ends when its text has ended", endOf(open));
  cases.illegal(open, "L08", "a run that never started ends", endOf(open, "run_9"));
  const { log, call } = called();
  cases.illegal(log, "L08", "a run ends while its call has no result", endOf(log));
  log.result(call, "look_up", "");
  cases.legal(log, "a run ends when its call has its result", endOf(log));
  const asking = startedStory();
  const questions = [{ id: "q", text: "?", options: [], multiple: false, free_text: true }];
  const on = asking.place();
  asking.add({ type: "question.request", ...on, key: "k_1", call: "call_1", questions });
  cases.illegal(asking, "L08", "a run ends while its question waits", endOf(asking));
  asking.add({ type: "question.update", ...on, version: 1, status: "cancelled" });
  cases.legal(asking, "a run ends when its question is withdrawn", endOf(asking));
  const sub = delegated();
  const result = {
    type: "tool_result.end",
    ...sub.on,
    status: "success",
    preview: "",
    artifact: null,
  } as const;
  cases.illegal(sub.log, "L08", "a result ends while its sub-agent runs", result);
  cases.illegal(sub.log, "L08", "a run ends while its sub-agent's result is open", endOf(sub.log));
  sub.log.endRun(sub.run);
  cases.legal(sub.log, "a result ends after its sub-agent", result);
  cases.illegal(sub.log, "L08", "a run ends twice", endOf(sub.log, sub.run));
}

function indexes(cases: CaseRecorder): void {
  const log = startedStory().think(["hm"]);
  const on = log.place();
  cases.legal(log, "the next index", { type: "text.start", ...on, part: false });
  cases.illegal(log, "L09", "an index is left out", { type: "text.start", ...on, index: 2, part: false });
  cases.illegal(log, "L09", "an index is used again", { type: "text.start", ...on, index: 0, part: false });
  const { turn, main: run } = log;
  cases.illegal(log, "L09", "a group marker leaves one out", {
    type: "group.start",
    turn,
    run,
    group: "g",
    index: 2,
  });
  cases.legal(log, "a group marker takes the next index", {
    type: "group.start",
    turn,
    run,
    group: "g",
    index: 1,
  });
}

function openBlocks(cases: CaseRecorder): void {
  const { log, run } = delegated();
  const on = log.place();
  const text = { type: "text.delta", text: "Hi" } as const;
  cases.illegal(log, "L10", "a delta of a block that never started", { ...text, ...on });
  log.add({ type: "text.start", ...on, part: true });
  cases.legal(log, "a delta of an open block", { ...text, ...on });
  cases.illegal(log, "L10", "a delta of another kind", { type: "thinking.delta", ...on, text: "hm" });
  cases.illegal(log, "L10", "a delta at another index", { ...text, ...on, index: on.index - 1 });
  cases.illegal(log, "L10", "a delta from another run", { ...text, ...on, run });
  cases.illegal(log, "L11", "a second text of the same run", {
    type: "text.start",
    ...log.place(),
    part: true,
  });
  cases.legal(log, "a text of another run", { type: "text.start", ...log.place(run), part: true });
  cases.legal(log, "a thought beside the text", { type: "thinking.start", ...log.place() });
  log.add({ type: "thinking.start", ...log.place() });
  cases.illegal(log, "L11", "a second thought of the same run", { type: "thinking.start", ...log.place() });
  log.add({ type: "text.end", ...on, final: false });
  cases.illegal(log, "L10", "a delta after the end", { ...text, ...on });
  cases.illegal(log, "L10", "a second end", { type: "text.end", ...on, final: false });
  cases.legal(log, "a text after the first has ended", { type: "text.start", ...log.place(), part: true });
  const paid = { type: "payment.update", ...on, version: 1, status: "processing" } as const;
  cases.illegal(log, "L10", "a change of a payment that is a text", paid);
}
