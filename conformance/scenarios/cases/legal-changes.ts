/** Examples for the rules of changes, takeovers, notices and ends of turns: L20 to L23. */
import { begun, called, delegated, type Judge } from "./judge.ts";

export function judgeChanges(judge: Judge): void {
  approvalChanges(judge);
  questionChanges(judge);
  formChanges(judge);
  paymentChanges(judge);
  takeovers(judge);
  committed(judge);
  voidGroups(judge);
  notices(judge);
  turnEnds(judge);
}

function approvalChanges(judge: Judge): void {
  const { log, call } = called();
  const actions = [{ name: "look_up", input: {} }];
  const on = log.place();
  log.add({ type: "approval.request", ...on, key: "k_1", call, actions, editable: false });
  const update = { type: "approval.update", ...on, version: 1 } as const;
  judge.fine(log, "an approval is approved", { ...update, status: "approved" });
  judge.fine(log, "a version may be left out", { ...update, version: 3, status: "approved" });
  judge.wrong(log, "L20", "version 0 is the request itself", { ...update, version: 0, status: "approved" });
  judge.wrong(log, "L20", "edited without the new actions", { ...update, status: "edited" });
  judge.wrong(log, "L20", "new actions without edited", { ...update, status: "approved", actions });
  judge.wrong(log, "L20", "what can't be edited is edited", { ...update, status: "edited", actions });
  judge.wrong(log, "L20", "approved for good where it was not offered", {
    ...update,
    status: "approved",
    always: true,
  });
  log.add({ ...update, status: "approved" });
  judge.wrong(log, "L20", "a decision is final", { ...update, version: 2, status: "rejected" });
  judge.wrong(log, "L20", "the same version again", { ...update, status: "approved" });
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
  judge.fine(editable.log, "an approval is approved for good", {
    type: "approval.update",
    ...place,
    version: 1,
    status: "approved",
    always: true,
  });
  judge.wrong(editable.log, "L20", "rejected for good", {
    type: "approval.update",
    ...place,
    version: 1,
    status: "rejected",
    always: true,
  });
  const edit = { type: "approval.update", ...place, version: 1, status: "edited" } as const;
  judge.fine(editable.log, "an approval is edited", {
    ...edit,
    actions: [{ name: "look_up", input: { q: "other" } }],
  });
  judge.wrong(editable.log, "L20", "an edit calls another tool", {
    ...edit,
    actions: [{ name: "look_down", input: {} }],
  });
  judge.wrong(editable.log, "L20", "an edit adds an action", { ...edit, actions: [...actions, ...actions] });
  judge.wrong(editable.log, "L20", "an edit takes an action away", { ...edit, actions: [] });
}

const QUESTIONS = [{ id: "q", text: "?", options: [], multiple: false, free_text: true }];
const ANSWERS = [{ question: "q", selected: [], text: "yes" }];

function questionChanges(judge: Judge): void {
  const log = begun();
  const on = log.place();
  log.add({ type: "question.request", ...on, key: "k_1", call: "call_1", questions: QUESTIONS });
  const update = { type: "question.update", ...on, version: 1 } as const;
  judge.fine(log, "a question is answered", { ...update, status: "answered", answers: ANSWERS });
  judge.wrong(log, "L20", "answered without answers", { ...update, status: "answered" });
  judge.fine(log, "a question is dismissed", { ...update, status: "dismissed" });
  judge.wrong(log, "L20", "answers without answered", { ...update, status: "dismissed", answers: ANSWERS });
  judge.wrong(log, "L20", "answers after the deadline", { ...update, status: "timed_out", answers: ANSWERS });
  const message = log.queue("yes");
  const answered = { ...update, status: "answered", answers: ANSWERS, message } as const;
  judge.fine(log, "a question is answered by a message", answered);
  log.add(answered);
  judge.wrong(log, "L20", "an answer is final", { ...answered, version: 2 });
  judge.wrong(log, "L20", "an answered question is dismissed", {
    ...update,
    version: 2,
    status: "dismissed",
  });
  judge.wrong(log, "L05", "a message that was an answer is withdrawn", { type: "message.remove", message });
}

function formChanges(judge: Judge): void {
  const log = begun();
  const on = log.place();
  log.add({ type: "form.request", ...on, form: "f", schema: { id: "f", title: "F", fields: [] } });
  log.end("requires_interaction");
  const update = { type: "form.update", ...on, version: 1 } as const;
  const submitted = { ...update, status: "submitted", values: { a: 1 } } as const;
  judge.fine(log, "a form is submitted", submitted);
  judge.wrong(log, "L20", "submitted without values", { ...update, status: "submitted" });
  judge.fine(log, "a form is declined", { ...update, status: "declined" });
  judge.wrong(log, "L20", "values without submitted", { ...update, status: "declined", values: { a: 1 } });
  judge.wrong(log, "L20", "values of a form that expired", {
    ...update,
    status: "expired",
    values: { a: 1 },
  });
  log.add(submitted);
  judge.wrong(log, "L20", "a form is submitted again", { ...submitted, version: 2 });
  judge.wrong(log, "L20", "a submitted form expires", { ...update, version: 2, status: "expired" });
}

function paymentChanges(judge: Judge): void {
  const log = begun();
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
  judge.wrong(log, "L20", "a payment succeeds before checkout", { ...update, status: "succeeded" });
  judge.fine(log, "a payment is cancelled before checkout", { ...update, status: "cancelled" });
  judge.fine(log, "checkout opens", { ...update, status: "processing" });
  log.add({ ...update, status: "processing" });
  judge.wrong(log, "L20", "a payment is cancelled in checkout", {
    ...update,
    version: 2,
    status: "cancelled",
  });
  judge.fine(log, "a payment succeeds", { ...update, version: 2, status: "succeeded" });
  log.add({ ...update, version: 2, status: "expired" });
  judge.wrong(log, "L20", "an expired payment succeeds", { ...update, version: 3, status: "succeeded" });
}

const NONE: string[] = [];

function takeovers(judge: Judge): void {
  const { log, call, on, run } = delegated();
  const { turn, main } = log;
  const takeover = { type: "turn.takeover", turn, blocks: NONE, groups: NONE, runs: NONE } as const;
  judge.fine(log, "a takeover that makes nothing void; a result may stay open", takeover);
  judge.wrong(log, "L21", "a takeover of no turn while one runs", { ...takeover, turn: null });
  judge.wrong(log, "L21", "a block that is not there", { ...takeover, blocks: ["blk_99"] });
  judge.wrong(log, "L21", "a run that is not there", { ...takeover, runs: ["run_99"] });
  judge.wrong(log, "L21", "the main run", { ...takeover, runs: [main] });
  const half = log.place(run);
  log.add({ type: "text.start", ...half, part: true });
  judge.wrong(log, "L21", "a half-written text is left", takeover);
  judge.fine(log, "a half-written text becomes void", { ...takeover, blocks: [half.block] });
  judge.wrong(log, "L21", "a block of a void run is left", { ...takeover, runs: [run] });
  judge.fine(log, "a run and its blocks become void", { ...takeover, runs: [run], blocks: [half.block] });
  const asked = log.events.find((event) => event.type === "tool_call.start" && event.call === call);
  const question = asked?.type === "tool_call.start" ? asked.block : "";
  const both = [question, half.block];
  judge.wrong(log, "L21", "the result of a void call is left", { ...takeover, blocks: both, runs: [run] });
  const all = [...both, on.block];
  judge.wrong(log, "L21", "the run of a void result is left", { ...takeover, blocks: all });
  judge.fine(log, "a call and all that hangs on it become void", { ...takeover, blocks: all, runs: [run] });
}

/** What was asked of a person, and what an ended run left, is committed. */
function committed(judge: Judge): void {
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
  judge.fine(log, "an approval waits across a takeover", takeover);
  judge.wrong(log, "L21", "an approval becomes void", { ...takeover, blocks: [on.block] });
  judge.wrong(log, "L21", "the call of an approval becomes void", { ...takeover, blocks: [asking] });
  judge.wrong(log, "L21", "an approval and its call become void", {
    ...takeover,
    blocks: [asking, on.block],
  });
  const asked = begun();
  const question = asked.place();
  asked.add({ type: "question.request", ...question, key: "k_1", call: "call_1", questions: QUESTIONS });
  asked.add({ type: "question.update", ...question, version: 1, status: "answered", answers: ANSWERS });
  const ofAsked = { ...takeover, turn: asked.turn };
  judge.wrong(asked, "L21", "an answered question becomes void", { ...ofAsked, blocks: [question.block] });

  const sub = delegated();
  const said = sub.log.place(sub.run);
  sub.log.add({ type: "text.start", ...said, part: true });
  sub.log.add({ type: "text.end", ...said, final: false });
  const ofSub = { ...takeover, turn: sub.log.turn, blocks: [said.block] };
  judge.fine(sub.log, "a block of a run that goes on becomes void", ofSub);
  sub.log.endRun(sub.run);
  judge.wrong(sub.log, "L21", "a block of a run that has ended becomes void", ofSub);
  judge.fine(sub.log, "a run that has ended becomes void, and its blocks", { ...ofSub, runs: [sub.run] });
}

function voidGroups(judge: Judge): void {
  const log = begun().openGroup().think(["hm"]);
  const turn = log.state.turns.last();
  const groups = [turn?.group ?? ""];
  const blocks = [turn?.items.get(1)?.id ?? ""];
  const takeover = { type: "turn.takeover", turn: log.turn, groups, runs: NONE } as const;
  judge.wrong(log, "L21", "a block in a void group is left", { ...takeover, blocks: NONE });
  judge.fine(log, "a group and its blocks become void", { ...takeover, blocks });
}

function notices(judge: Judge): void {
  const log = begun();
  const notice = { type: "notice.stopped", text: "Stopped." } as const;
  const text = log.place();
  log.add({ type: "text.start", ...text, part: false });
  judge.wrong(log, "L22", "a notice while a text is open", { ...notice, ...log.place() });
  log.add({ type: "text.end", ...text, final: false });
  judge.fine(log, "a notice when all is closed", { ...notice, ...log.place() });
  log.add({ ...notice, ...log.place() });
  judge.wrong(log, "L22", "a block after the notice", { type: "text.start", ...log.place(), part: false });
  const grouped = begun().openGroup().think(["hm"]);
  judge.wrong(grouped, "L22", "a notice while a group is open", { ...notice, ...grouped.place() });
  const { log: calling } = called();
  const error = { type: "notice.error", text: "", code: "LLM_ERROR", can_retry: true } as const;
  judge.wrong(calling, "L22", "an error while a call has no result", {
    ...error,
    error_type: "transient",
    ...calling.place(),
  });
  const asking = begun();
  const asked = asking.place();
  asking.add({ type: "question.request", ...asked, key: "k_1", call: "call_1", questions: QUESTIONS });
  judge.wrong(asking, "L22", "a notice while a question waits", { ...notice, ...asking.place() });
  asking.add({ type: "question.update", ...asked, version: 1, status: "cancelled" });
  judge.fine(asking, "a notice when the question is withdrawn", { ...notice, ...asking.place() });
  const schema = { id: "f", title: "F", fields: [] };
  asking.add({ type: "form.request", ...asking.place(), form: "f", schema });
  judge.fine(asking, "a notice while a form waits, which outlives the turn", {
    ...notice,
    ...asking.place(),
  });
}

function turnEnds(judge: Judge): void {
  const log = begun().text(["Done."], { final: true });
  const end = { type: "turn.end", turn: log.turn, reason: "end_turn", duration_ms: 7 } as const;
  judge.wrong(log, "L23", "a turn ends while its main run goes on", end);
  log.endRun();
  judge.fine(log, "a turn ends", end);
  judge.wrong(log, "L23", "stopped without a notice", { ...end, reason: "user_stopped" });
  judge.wrong(log, "L23", "an error without a notice", { ...end, reason: "error" });
  judge.wrong(log, "L23", "a turn waits for a form that is not there", {
    ...end,
    reason: "requires_interaction",
  });
  const grouped = begun().openGroup().think(["hm"]).endRun();
  judge.wrong(grouped, "L23", "a turn ends while a group is open", { ...end, turn: grouped.turn });
  const stopped = begun();
  stopped.add({ type: "notice.stopped", ...stopped.place(), text: "Stopped." });
  stopped.endRun(stopped.main, "cancelled");
  judge.wrong(stopped, "L23", "a stopped turn ends as if answered", { ...end, turn: stopped.turn });
  judge.fine(stopped, "a stopped turn ends", { ...end, turn: stopped.turn, reason: "user_stopped" });
  const asking = begun();
  asking.add({
    type: "form.request",
    ...asking.place(),
    form: "f",
    schema: { id: "f", title: "F", fields: [] },
  });
  asking.endRun();
  judge.fine(asking, "a turn ends with a form", {
    ...end,
    turn: asking.turn,
    reason: "requires_interaction",
  });
  const bare = begun().text([], { final: true }).end();
  const turn = { turn: "turn_9", number: 2, message_number: 1, agent: "a", mode: "agent" } as const;
  bare.add({ type: "turn.start", ...turn, from_share: false });
  judge.wrong(bare, "L23", "a turn without a main run ends", { ...end, turn: "turn_9" });
}
