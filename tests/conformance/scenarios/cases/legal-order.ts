/** Examples for the rules of groups, texts, files, results and approvals: L12 to L19. */
import { startedStory, called, delegated, type CaseRecorder } from "./case-recorder.ts";

const QUESTIONS = [{ id: "q", text: "?", options: [], multiple: false, free_text: true }];
const SCHEMA = { id: "f", title: "F", fields: [] };

export function recordOrder(cases: CaseRecorder): void {
  groups(cases);
  hiddenCalls(cases);
  texts(cases);
  results(cases);
  refusals(cases);
  parts(cases);
  approvals(cases);
  waitingForms(cases);
}

/** A running tool requests a form and waits for it. */
function waitingForms(cases: CaseRecorder): void {
  const { log, call } = called();
  const form = { type: "form.request", form: "w1", call, schema: SCHEMA, waits: true } as const;
  cases.legal(log, "a form that waits, before the result of its call", { ...form, ...log.place() });
  cases.illegal(log, "L19", "a form that waits for a call that is not there", {
    ...form,
    ...log.place(),
    call: "nobody",
  });
  const place = log.place();
  log.add({ type: "tool_result.start", ...place, call, name: "look_up", label: "" });
  const asked = log.place();
  cases.legal(log, "a form that waits, inside the open result of its call", { ...form, ...asked });
  log.add({ ...form, ...asked });
  const end = { type: "tool_result.end", ...place, status: "success", preview: "", artifact: null } as const;
  cases.illegal(log, "L16", "the end of a result while its form waits", end);
  log.add({ type: "form.update", ...asked, version: 1, status: "submitted", values: {} });
  cases.legal(log, "the end of a result once its form is submitted", end);
  log.add(end);
  cases.illegal(log, "L19", "a form that waits for a call that has its result", {
    ...form,
    ...log.place(),
    form: "w2",
  });
  const { turn } = log;
  cases.illegal(log, "L23", "an end for a form that waited inside the turn", {
    type: "turn.end",
    turn,
    reason: "requires_interaction",
    duration_ms: 1,
  });
}

function groups(cases: CaseRecorder): void {
  const { log, call, on, run } = delegated();
  const { turn, main } = log;
  const marker = (of: string) =>
    ({ type: "group.start", turn, run: of, group: "g", index: log.place().index }) as const;
  cases.illegal(log, "L12", "a sub-agent opens a group", marker(run));
  cases.illegal(log, "L12", "a group while a result is open", marker(main));
  log.endRun(run).endResult(on, "");
  cases.legal(log, "a group when all is closed", marker(main));
  const waits = called();
  const { index } = waits.log.place();
  const other = { turn: waits.log.turn, run: waits.log.main, index };
  cases.illegal(waits.log, "L12", "a group while a call has no result", {
    type: "group.start",
    ...other,
    group: "g",
  });

  log.openGroup();
  cases.illegal(log, "L12", "a group inside a group", marker(main));
  const end = () => ({ ...marker(main), type: "group.end", summary: "" }) as const;
  const group = log.state.turns.last()?.group ?? "";
  cases.illegal(log, "L12", "the end of a group that is not open", end());
  const next = log.call("look_up", []);
  cases.illegal(log, "L12", "a group ends while a call has no result", { ...end(), group });
  log.result(next, "look_up", "");
  cases.legal(log, "a group ends when all is closed", { ...end(), group });

  cases.illegal(log, "L13", "an answer inside a group", { type: "text.start", ...log.place(), part: false });
  cases.legal(log, "a part of text inside a group", { type: "text.start", ...log.place(), part: true });
  const question = { type: "question.request", key: "k_1", call, questions: QUESTIONS } as const;
  cases.illegal(log, "L13", "a question inside a group", { ...question, ...log.place() });
  const form = { type: "form.request", form: "form_1", schema: SCHEMA } as const;
  cases.illegal(log, "L13", "a form inside a group", { ...form, ...log.place() });
  const payment = {
    type: "payment.request",
    payment: "p",
    order_no: "1",
    amount: 5,
    currency: "USD",
  } as const;
  const item = { description: "", checkout_url: "https://pay.example" };
  cases.illegal(log, "L13", "a payment inside a group", { ...payment, ...item, ...log.place() });
  const helped = log.call("call_agent", []);
  log.startResult(helped, "call_agent");
  const helper = log.startRun(helped, "helper");
  cases.legal(log, "a sub-agent's question, a group being open", { ...question, ...log.place(helper) });
}

function hiddenCalls(cases: CaseRecorder): void {
  const log = startedStory();
  const tool = { call: "call_h", name: "memory", label: "" };
  const on = log.place();
  log.add({ type: "tool_call.start", ...on, ...tool, hidden: true });
  log.add({ type: "tool_call.end", ...on });
  const { turn, run, index } = log.place();
  cases.legal(log, "a group while a hidden call has no result", {
    type: "group.start",
    turn,
    run,
    group: "g",
    index,
  });
  const result = { type: "tool_result.start", ...tool, ...log.place() } as const;
  cases.illegal(log, "L16", "the result of a hidden call is shown", result);
  cases.illegal(log, "L16", "the result of a hidden call is not hidden", { ...result, hidden: false });
  cases.legal(log, "the result of a hidden call is hidden", { ...result, hidden: true });
}

function texts(cases: CaseRecorder): void {
  const { log, run } = delegated();
  cases.illegal(log, "L14", "a sub-agent's text that is no part", {
    type: "text.start",
    ...log.place(run),
    part: false,
  });
  const on = log.place(run);
  log.add({ type: "text.start", ...on, part: true });
  cases.illegal(log, "L14", "a sub-agent's final text", { type: "text.end", ...on, final: true });
  cases.legal(log, "a sub-agent's text", { type: "text.end", ...on, final: false });
  const final = startedStory().text(["Done."], { final: true });
  const tool = { type: "tool_call.start", call: "call_9", name: "look_up", label: "" } as const;
  cases.illegal(final, "L14", "a call after the final text", { ...tool, ...final.place() });
  const notFinal = startedStory().text(["Wait."]);
  cases.legal(notFinal, "a call after a text that is not final", { ...tool, ...notFinal.place() });
  const more = final.place();
  final.add({ type: "text.start", ...more, part: false });
  cases.illegal(final, "L14", "a second final text", { type: "text.end", ...more, final: true });
  cases.legal(final, "a text after the final one", { type: "text.end", ...more, final: false });

  const first = startedStory();
  const files = [{ url: "https://files.example/a.pdf" }];
  cases.legal(first, "files first", { type: "files.start", ...first.place(), files });
  const grouped = startedStory().openGroup();
  cases.illegal(grouped, "L15", "files in a group", { type: "files.start", ...grouped.place(), files });
  first.think(["hm"]);
  cases.illegal(first, "L15", "files after a thought", { type: "files.start", ...first.place(), files });

  const cited = startedStory();
  const text = cited.place();
  cited.add({ type: "text.start", ...text, part: false });
  const delta = { type: "text.delta", ...text, text: "🌊[^1]" } as const;
  cases.legal(cited, "an annotation up to the end, in UTF-16 units", { ...delta, ...note(2, 6) });
  cases.illegal(cited, "L18", "an annotation beyond the text", { ...delta, ...note(3, 7) });
  cases.illegal(cited, "L18", "an annotation over nothing", { ...delta, ...note(2, 2) });
}

function note(start: number, end: number) {
  return { annotations: [{ reference: 1, start, end }] };
}

function results(cases: CaseRecorder): void {
  const log = startedStory();
  const on = log.place();
  const tool = { call: "call_1", name: "look_up", label: "" };
  const result = { type: "tool_result.start", ...tool } as const;
  cases.illegal(log, "L16", "a result without a call", { ...result, ...on });
  log.add({ type: "tool_call.start", ...on, ...tool });
  cases.illegal(log, "L16", "a result before its call has ended", { ...result, ...log.place() });
  log.add({ type: "tool_call.end", ...on });
  cases.legal(log, "a result after its call", { ...result, ...log.place() });
  cases.illegal(log, "L16", "a result of another tool", { ...result, ...log.place(), name: "look_down" });
  const asked = log.place();
  const actions = [{ name: "look_up", input: {} }];
  log.add({ type: "approval.request", ...asked, key: "k_1", call: "call_1", actions, editable: false });
  cases.illegal(log, "L16", "a result while its approval waits", { ...result, ...log.place() });
  log.add({ type: "approval.update", ...asked, version: 1, status: "rejected" });
  cases.legal(log, "a result after its approval was decided", { ...result, ...log.place() });
  log.startResult("call_1", "look_up");
  cases.illegal(log, "L16", "a second result", { ...result, ...log.place() });
  const sub = delegated();
  const call = sub.log.call("look_up", [], { run: sub.run });
  cases.illegal(sub.log, "L16", "a result in another run", { ...result, ...sub.log.place(), call });
  cases.legal(sub.log, "a result in the run of its call", { ...result, ...sub.log.place(sub.run), call });
}

/** The result of a call whose approval was refused or timed out must not be a success. */
function refusals(cases: CaseRecorder): void {
  const actions = [{ name: "look_up", input: {} }];
  const decided = (status: "approved" | "rejected" | "timed_out" | "cancelled") => {
    const { log, call } = called();
    const on = log.place();
    log.add({ type: "approval.request", ...on, key: "k_1", call, actions, editable: false });
    log.add({ type: "approval.update", ...on, version: 1, status });
    return { log, call };
  };
  const end = { type: "tool_result.end", preview: "", artifact: null } as const;
  for (const status of ["rejected", "timed_out", "cancelled"] as const) {
    const { log, call } = decided(status);
    const on = log.startResult(call, "look_up");
    cases.illegal(log, "L16", `a success although the approval was ${status}`, {
      ...end,
      ...on,
      status: "success",
    });
    cases.legal(log, `an error after the approval was ${status}`, { ...end, ...on, status: "error" });
    cases.legal(log, `a call is cancelled after its approval was ${status}`, {
      ...end,
      ...on,
      status: "cancelled",
    });
  }
  const approved = decided("approved");
  const on = approved.log.startResult(approved.call, "look_up");
  cases.legal(approved.log, "a success after the approval", { ...end, ...on, status: "success" });
  const { log, call } = decided("rejected");
  const again = log.place();
  log.add({ type: "approval.request", ...again, key: "k_2", call, actions, editable: false });
  log.add({ type: "approval.update", ...again, version: 1, status: "approved" });
  cases.legal(log, "a success when the second approval was given", {
    ...end,
    ...log.startResult(call, "look_up"),
    status: "success",
  });
}

function parts(cases: CaseRecorder): void {
  const { log, call } = called();
  const on = log.startResult(call, "look_up");
  const delta = { type: "tool_result.delta", ...on, media: "text", data: "x", done: false } as const;
  cases.legal(log, "the first part", { ...delta, part: 0 });
  cases.illegal(log, "L17", "the first part is left out", { ...delta, part: 1 });
  log.add({ ...delta, part: 0 });
  cases.legal(log, "more of the part", { ...delta, part: 0 });
  cases.illegal(log, "L17", "the next part while this one is not done", { ...delta, part: 1 });
  cases.illegal(log, "L17", "a part becomes a picture", { ...delta, part: 0, media: "image" });
  log.add({ ...delta, part: 0, done: true });
  cases.illegal(log, "L17", "more of a part that is done", { ...delta, part: 0 });
  cases.legal(log, "the next part", { ...delta, part: 1, media: "image" });
  log.add({ ...delta, part: 1 });
  cases.illegal(log, "L17", "an earlier part again", { ...delta, part: 0 });
}

function approvals(cases: CaseRecorder): void {
  const log = startedStory();
  const actions = [{ name: "look_up", input: {} }];
  const approval = { type: "approval.request", key: "k_1", call: "call_1", actions, editable: true } as const;
  const on = log.place();
  cases.illegal(log, "L19", "an approval of no call", { ...approval, ...on });
  log.add({ type: "tool_call.start", ...on, call: "call_1", name: "look_up", label: "" });
  cases.illegal(log, "L19", "an approval of a call that has not ended", { ...approval, ...log.place() });
  log.add({ type: "tool_call.end", ...on });
  cases.legal(log, "an approval of a call that has ended", { ...approval, ...log.place() });
  log.add({ ...approval, ...log.place() });
  cases.illegal(log, "L19", "a second approval while the first waits", {
    ...approval,
    ...log.place(),
    key: "k_2",
  });
  const { log: other, call } = called();
  other.startResult(call, "look_up");
  cases.illegal(other, "L19", "an approval of a call that runs", { ...approval, ...other.place(), call });
  const sub = delegated();
  const inner = sub.log.call("look_up", [], { run: sub.run });
  cases.illegal(sub.log, "L19", "an approval of another run's call", {
    ...approval,
    ...sub.log.place(),
    call: inner,
  });
}
