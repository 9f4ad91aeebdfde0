/** Examples for the rules of changes, takeovers, notices and ends of turns: L20 to L23. */
import { startedStory, called, delegated, type CaseRecorder } from "./case-recorder.ts";

export function recordChanges(cases: CaseRecorder): void {
  approvalChanges(cases);
  questionChanges(cases);
  formChanges(cases);
  paymentChanges(cases);
  takeovers(cases);
  committed(cases);
  voidGroups(cases);
  notices(cases);
  turnEnds(cases);
}

function approvalChanges(cases: CaseRecorder): void {
  const { log, call } = called();
  const actions = [{ name: "look_up", input: {} }];
  const on = log.place();
  log.add({ type: "approval.request", ...on, key: "k_1", call, actions, editable: false });
  const update = { type: "approval.update", ...on, version: 1 } as const;
  cases.legal(log, "an approval is approved", { ...update, status: "approved" });
  cases.legal(log, "a version may be left out", { ...update, version: 3, status: "approved" });
  cases.illegal(log, "L20", "version 0 is the request itself", { ...update, version: 0, status: "approved" });
  cases.illegal(log, "L20", "edited without the new actions", { ...update, status: "edited" });
  cases.illegal(log, "L20", "new actions without edited", { ...update, status: "approved", actions });
  cases.illegal(log, "L20", "what can't be edited is edited", { ...update, status: "edited", actions });
  cases.illegal(log, "L20", "approved for good where it was not offered", {
    ...update,
    status: "approved",
    always: true,
  });
  log.add({ ...update, status: "approved" });
  cases.illegal(log, "L20", "a decision is final", { ...update, version: 2, status: "rejected" });
  cases.illegal(log, "L20", "the same version again", { ...update, status: "approved" });
  const editable = called();
  const place = editable.log.place();
  editable.log.add({
    type: "approval.request",
    ...place,
    key: "k_1",
    call: editable.call,
    actions,
    editable: true,
    always: true,
  });
  cases.legal(editable.log, "an approval is approved for good", {
    type: "approval.update",
    ...place,
    version: 1,
    status: "approved",
    always: true,
  });
  cases.illegal(editable.log, "L20", "rejected for good", {
    type: "approval.update",
    ...place,
    version: 1,
    status: "rejected",
    always: true,
  });
  const edit = { type: "approval.update", ...place, version: 1, status: "edited" } as const;
  cases.legal(editable.log, "an approval is edited", {
    ...edit,
    actions: [{ name: "look_up", input: { q: "other" } }],
  });
  cases.illegal(editable.log, "L20", "an edit calls another tool", {
    ...edit,
    actions: [{ name: "look_down", input: {} }],
  });
  cases.illegal(editable.log, "L20", "an edit adds an action", {
    ...edit,
    actions: [...actions, ...actions],
  });
  cases.illegal(editable.log, "L20", "an edit takes an action away", { ...edit, actions: [] });
}

const QUESTIONS = [{ id: "q", text: "?", options: [], multiple: false, free_text: true }];
const ANSWERS = [{ question: "q", selected: [], text: "yes" }];

function questionChanges(cases: CaseRecorder): void {
  const log = startedStory();
  const on = log.place();
  log.add({ type: "question.request", ...on, key: "k_1", call: "call_1", questions: QUESTIONS });
  const update = { type: "question.update", ...on, version: 1 } as const;
  cases.legal(log, "a question is answered", { ...update, status: "answered", answers: ANSWERS });
  cases.illegal(log, "L20", "answered without answers", { ...update, status: "answered" });
  cases.legal(log, "a question is dismissed", { ...update, status: "dismissed" });
  cases.illegal(log, "L20", "answers without answered", { ...update, status: "dismissed", answers: ANSWERS });
  cases.illegal(log, "L20", "answers after the deadline", {
    ...update,
    status: "timed_out",
    answers: ANSWERS,
  });
  const message = log.queue("yes");
  const answered = { ...update, status: "answered", answers: ANSWERS, message } as const;
  cases.legal(log, "a question is answered by a message", answered);
  log.add(answered);
  cases.illegal(log, "L20", "an answer is final", { ...answered, version: 2 });
  cases.illegal(log, "L20", "an answered question is dismissed", {
    ...update,
    version: 2,
    status: "dismissed",
  });
  cases.illegal(log, "L05", "a message that was an answer is withdrawn", { type: "message.remove", message });
}

function formChanges(cases: CaseRecorder): void {
  const log = startedStory();
  const on = log.place();
  log.add({ type: "form.request", ...on, form: "f", schema: { id: "f", title: "F", fields: [] } });
  log.end("requires_interaction");
  const update = { type: "form.update", ...on, version: 1 } as const;
  const submitted = { ...update, status: "submitted", values: { a: 1 } } as const;
  cases.legal(log, "a form is submitted", submitted);
  cases.illegal(log, "L20", "submitted without values", { ...update, status: "submitted" });
  cases.legal(log, "a form is declined", { ...update, status: "declined" });
  cases.illegal(log, "L20", "values without submitted", { ...update, status: "declined", values: { a: 1 } });
  cases.illegal(log, "L20", "values of a form that expired", {
    ...update,
    status: "expired",
    values: { a: 1 },
  });
  log.add(submitted);
  cases.illegal(log, "L20", "a form is submitted again", { ...submitted, version: 2 });
  cases.illegal(log, "L20", "a submitted form expires", { ...update, version: 2, status: "expired" });
}

function paymentChanges(cases: CaseRecorder): void {
  const log = startedStory();
  const on = log.place();
  const item = { description: "Tea", checkout_url: "https://pay.example" };
  log.add({
    type: "payment.request",
    ...on,
    payment: "p",
    order_no: "1",
    amount: 5,
    currency: "USD",
    ...item,
  });
  const update = { type: "payment.update", ...on, version: 1 } as const;
  cases.illegal(log, "L20", "a payment succeeds before checkout", { ...update, status: "succeeded" });
  cases.legal(log, "a payment is cancelled before checkout", { ...update, status: "cancelled" });
  cases.legal(log, "checkout opens", { ...update, status: "processing" });
  log.add({ ...update, status: "processing" });
  cases.illegal(log, "L20", "a payment is cancelled in checkout", {
    ...update,
    version: 2,
    status: "cancelled",
  });
  cases.legal(log, "a payment succeeds", { ...update, version: 2, status: "succeeded" });
  log.add({ ...update, version: 2, status: "expired" });
  cases.illegal(log, "L20", "an expired payment succeeds", { ...update, version: 3, status: "succeeded" });
}

const NONE: string[] = [];

function takeovers(cases: CaseRecorder): void {
  const { log, call, on, run } = delegated();
  const { turn, main } = log;
  const takeover = { type: "turn.takeover", turn, blocks: NONE, groups: NONE, runs: NONE } as const;
  cases.legal(log, "a takeover that supersedes nothing; a result may stay open", takeover);
  cases.illegal(log, "L21", "a takeover of no turn while one runs", { ...takeover, turn: null });
  cases.illegal(log, "L21", "a block that is not there", { ...takeover, blocks: ["blk_99"] });
  cases.illegal(log, "L21", "a run that is not there", { ...takeover, runs: ["run_99"] });
  cases.illegal(log, "L21", "the main run", { ...takeover, runs: [main] });
  const half = log.place(run);
  log.add({ type: "text.start", ...half, part: true });
  cases.illegal(log, "L21", "a half-written text is left out", takeover);
  cases.legal(log, "a half-written text is superseded", { ...takeover, blocks: [half.block] });
  cases.illegal(log, "L21", "a block of a superseded run is left out", { ...takeover, runs: [run] });
  cases.legal(log, "a run and its blocks are superseded", { ...takeover, runs: [run], blocks: [half.block] });
  const asked = log.events.find((event) => event.type === "tool_call.start" && event.call === call);
  const question = asked?.type === "tool_call.start" ? asked.block : "";
  const both = [question, half.block];
  cases.illegal(log, "L21", "the result of a superseded call is left out", {
    ...takeover,
    blocks: both,
    runs: [run],
  });
  const all = [...both, on.block];
  cases.illegal(log, "L21", "the run of a superseded result is left out", { ...takeover, blocks: all });
  cases.legal(log, "a call and all that depends on it are superseded", {
    ...takeover,
    blocks: all,
    runs: [run],
  });
}

/** Interactions and the blocks of ended runs are committed, so a takeover can't supersede them. */
function committed(cases: CaseRecorder): void {
  const { log, call } = called();
  const before = log.events.findLast((event) => event.type === "tool_call.end");
  const asking = before?.type === "tool_call.end" ? before.block : "";
  const on = log.place();
  const actions = [{ name: "look_up", input: {} }];
  log.add({ type: "approval.request", ...on, key: "k_1", call, actions, editable: false });
  const takeover = {
    type: "turn.takeover",
    turn: log.turn,
    blocks: NONE,
    groups: NONE,
    runs: NONE,
  } as const;
  cases.legal(log, "an approval waits across a takeover", takeover);
  cases.illegal(log, "L21", "an approval is superseded", { ...takeover, blocks: [on.block] });
  cases.illegal(log, "L21", "the call of an approval is superseded", { ...takeover, blocks: [asking] });
  cases.illegal(log, "L21", "an approval and its call are superseded", {
    ...takeover,
    blocks: [asking, on.block],
  });
  const asked = startedStory();
  const question = asked.place();
  asked.add({ type: "question.request", ...question, key: "k_1", call: "call_1", questions: QUESTIONS });
  asked.add({ type: "question.update", ...question, version: 1, status: "answered", answers: ANSWERS });
  const ofAsked = { ...takeover, turn: asked.turn };
  cases.illegal(asked, "L21", "an answered question is superseded", { ...ofAsked, blocks: [question.block] });

  const sub = delegated();
  const text = sub.log.place(sub.run);
  sub.log.add({ type: "text.start", ...text, part: true });
  sub.log.add({ type: "text.end", ...text, final: false });
  const ofSub = { ...takeover, turn: sub.log.turn, blocks: [text.block] };
  cases.legal(sub.log, "a block of a running run is superseded", ofSub);
  sub.log.endRun(sub.run);
  cases.illegal(sub.log, "L21", "a block of a run that has ended is superseded", ofSub);
  cases.legal(sub.log, "a run that has ended is superseded, and its blocks", { ...ofSub, runs: [sub.run] });
}

function voidGroups(cases: CaseRecorder): void {
  const log = startedStory().openGroup().think(["hm"]);
  const turn = log.state.turns.last();
  const groups = [turn?.group ?? ""];
  const blocks = [turn?.items.get(1)?.id ?? ""];
  const takeover = { type: "turn.takeover", turn: log.turn, groups, runs: NONE } as const;
  cases.illegal(log, "L21", "a block in a superseded group is left out", { ...takeover, blocks: NONE });
  cases.legal(log, "a group and its blocks are superseded", { ...takeover, blocks });
}

function notices(cases: CaseRecorder): void {
  const log = startedStory();
  const notice = { type: "notice.stopped", text: "Stopped." } as const;
  const text = log.place();
  log.add({ type: "text.start", ...text, part: false });
  cases.illegal(log, "L22", "a notice while a text is open", { ...notice, ...log.place() });
  log.add({ type: "text.end", ...text, final: false });
  cases.legal(log, "a notice when all is closed", { ...notice, ...log.place() });
  log.add({ ...notice, ...log.place() });
  cases.illegal(log, "L22", "a block after the notice", { type: "text.start", ...log.place(), part: false });
  const grouped = startedStory().openGroup().think(["hm"]);
  cases.illegal(grouped, "L22", "a notice while a group is open", { ...notice, ...grouped.place() });
  const { log: calling } = called();
  const error = { type: "notice.error", text: "", code: "LLM_ERROR", can_retry: true } as const;
  cases.illegal(calling, "L22", "an error while a call has no result", {
    ...error,
    error_type: "transient",
    ...calling.place(),
  });
  const asking = startedStory();
  const asked = asking.place();
  asking.add({ type: "question.request", ...asked, key: "k_1", call: "call_1", questions: QUESTIONS });
  cases.illegal(asking, "L22", "a notice while a question waits", { ...notice, ...asking.place() });
  asking.add({ type: "question.update", ...asked, version: 1, status: "cancelled" });
  cases.legal(asking, "a notice when the question is withdrawn", { ...notice, ...asking.place() });
  const schema = { id: "f", title: "F", fields: [] };
  asking.add({ type: "form.request", ...asking.place(), form: "f", schema });
  cases.legal(asking, "a notice while a form waits, which outlives the turn", {
    ...notice,
    ...asking.place(),
  });
}

function turnEnds(cases: CaseRecorder): void {
  const log = startedStory().text(["Done."], { final: true });
  const end = { type: "turn.end", turn: log.turn, reason: "end_turn", duration_ms: 7 } as const;
  cases.illegal(log, "L23", "a turn ends while its main run is running", end);
  log.endRun();
  cases.legal(log, "a turn ends", end);
  cases.illegal(log, "L23", "stopped without a notice", { ...end, reason: "user_stopped" });
  cases.illegal(log, "L23", "an error without a notice", { ...end, reason: "error" });
  cases.illegal(log, "L23", "a turn waits for a form that is not there", {
    ...end,
    reason: "requires_interaction",
  });
  const grouped = startedStory().openGroup().think(["hm"]).endRun();
  cases.illegal(grouped, "L23", "a turn ends while a group is open", { ...end, turn: grouped.turn });
  const stopped = startedStory();
  stopped.add({ type: "notice.stopped", ...stopped.place(), text: "Stopped." });
  stopped.endRun(stopped.main, "cancelled");
  cases.illegal(stopped, "L23", "a stopped turn ends as if answered", { ...end, turn: stopped.turn });
  cases.legal(stopped, "a stopped turn ends", { ...end, turn: stopped.turn, reason: "user_stopped" });
  const asking = startedStory();
  asking.add({
    type: "form.request",
    ...asking.place(),
    form: "f",
    schema: { id: "f", title: "F", fields: [] },
  });
  asking.endRun();
  cases.legal(asking, "a turn ends with a form", {
    ...end,
    turn: asking.turn,
    reason: "requires_interaction",
  });
  const bare = startedStory().text([], { final: true }).end();
  const turn = { turn: "turn_9", number: 2, message_number: 1, agent: "a", mode: "agent" } as const;
  bare.add({ type: "turn.start", ...turn, from_share: false });
  cases.illegal(bare, "L23", "a turn without a main run ends", { ...end, turn: "turn_9" });
}
