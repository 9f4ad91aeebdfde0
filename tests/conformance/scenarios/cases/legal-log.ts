/** Examples for the rules of positions, ids and turns: L01 to L06. */
import { Story } from "../story.ts";
import { startedStory, called, delegated, type CaseRecorder, lastBlock } from "./case-recorder.ts";

const TURN = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;

export function recordLog(cases: CaseRecorder): void {
  positions(cases);
  ids(cases);
  turns(cases);
}

function positions(cases: CaseRecorder): void {
  const nothing = new Story();
  const session = { type: "session.start", session: "ses_rule", number: 1 } as const;
  cases.legal(nothing, "a log begins with session.start", session);
  cases.illegal(nothing, "L01", "a turn before session.start", {
    type: "turn.start",
    turn: "turn_1",
    ...TURN,
  });
  const log = startedStory();
  cases.illegal(log, "L01", "a second session.start", session);

  const title = { type: "session.update", title: "T" } as const;
  cases.legal(log, "the next position", title, { id: "1-5" });
  cases.illegal(log, "L02", "a position is left out", title, { id: "1-6" });
  cases.illegal(log, "L02", "a position is used again", title, { id: "1-4" });
  cases.illegal(log, "L02", "an id that is no position", title, { id: "1-05" });
  const on = log.place();
  log.add({ type: "thinking.start", ...on });
  const delta = { type: "thinking.delta", ...on, text: "Let me see" } as const;
  cases.legal(log, "a merged delta that starts right after the last position", delta, {
    id: "1-9",
    first: 6,
  });
  cases.illegal(log, "L02", "a merged delta that overlaps", delta, { id: "1-9", first: 5 });
  cases.illegal(log, "L02", "a merged delta after a gap", delta, { id: "1-9", first: 7 });
  cases.illegal(log, "L02", "a merged delta that starts after its own position", delta, {
    id: "1-5",
    first: 6,
  });

  cases.illegal(log, "L03", "an epoch that is over", delta, { id: "0-6" });
  cases.illegal(log, "L03", "a delta begins a new epoch", delta, { id: "2-6" });
  const takeover = {
    type: "turn.takeover",
    turn: log.turn,
    blocks: [on.block],
    groups: [],
    runs: [],
  } as const;
  cases.legal(log, "a takeover begins a new epoch", takeover, { id: "2-6" });
  cases.legal(log, "a takeover may skip epochs", takeover, { id: "9-6" });
  cases.illegal(log, "L03", "a takeover in the same epoch", takeover, { id: "1-6" });
  const over = startedStory().text(["Hi"], { final: true }).end();
  cases.legal(
    over,
    "a turn may begin a new epoch",
    { type: "turn.start", turn: "t", ...TURN },
    { id: "2-10" },
  );
}

function ids(cases: CaseRecorder): void {
  const log = startedStory();
  cases.illegal(log, "L04", "a message id that a turn has taken up", {
    type: "message.add",
    message: "msg_1",
    text: "",
  });
  cases.legal(log, "a new message while a turn runs", { type: "message.add", message: "msg_9", text: "" });
  log.queue("And?");
  cases.illegal(log, "L04", "the id of a message that waits", {
    type: "message.add",
    message: "msg_3",
    text: "",
  });
  const { turn, main } = log;
  cases.illegal(log, "L04", "a run id again", { type: "run.start", turn, run: main, agent: "a" });
  log.think(["hm"]);
  cases.illegal(log, "L04", "a block id again", {
    type: "thinking.start",
    ...log.place(),
    block: lastBlock(log),
  });
  log.openGroup();
  const group = log.state.turns.last()?.group ?? "";
  log.closeGroup("");
  const marker = { turn, run: main, index: log.place().index };
  cases.illegal(log, "L04", "a group id again", { type: "group.start", ...marker, group });
  cases.legal(log, "another group", { type: "group.start", ...marker, group: "grp_99" });
  const call = log.call("look_up", ["{}"]);
  const tool = { call, name: "look_up", label: "" };
  cases.illegal(log, "L04", "a call id again", { type: "tool_call.start", ...log.place(), ...tool });
  const block = lastBlock(log);
  log.add({ type: "turn.takeover", turn, blocks: [block], groups: [], runs: [] });
  cases.legal(log, "the id of a superseded call", { type: "tool_call.start", ...log.place(), ...tool });
  cases.illegal(log, "L04", "the id of a superseded block", {
    type: "thinking.start",
    ...log.place(),
    block,
  });
  interactionIds(cases);
  const again = startedStory().text([], { final: true }).end();
  cases.illegal(again, "L04", "a turn id again", { type: "turn.start", turn: again.turn, ...TURN });
}

function interactionIds(cases: CaseRecorder): void {
  const { log, call } = called();
  const actions = [{ name: "look_up", input: {} }];
  const approval = { type: "approval.request", call, actions, editable: true } as const;
  const on = log.place();
  log.add({ ...approval, ...on, key: "k_1" });
  log.add({ type: "approval.update", ...on, version: 1, status: "rejected" });
  cases.illegal(log, "L04", "an approval's key again", { ...approval, ...log.place(), key: "k_1" });
  cases.legal(log, "another approval of the same call", { ...approval, ...log.place(), key: "k_2" });
  log.result(call, "look_up", "", { status: "error" });
  const schema = { id: "f", title: "F", fields: [] };
  const form = { type: "form.request", form: "form_1", schema } as const;
  log.add({ ...form, ...log.place() });
  log.end("requires_interaction").begin("Go on");
  cases.illegal(log, "L04", "the id of an earlier turn's form", { ...form, ...log.place() });
}

function turns(cases: CaseRecorder): void {
  const log = startedStory();
  cases.illegal(log, "L05", "a turn while another runs", { type: "turn.start", turn: "turn_9", ...TURN });
  log.text(["Hi"], { final: true });
  const { turn, main } = log;
  log.end();
  const next = { type: "turn.start", turn: "turn_9", ...TURN } as const;
  cases.illegal(log, "L05", "a turn for an unknown message", { ...next, message: "msg_9" });
  cases.illegal(log, "L05", "a turn for a message that has its turn", { ...next, message: "msg_1" });
  cases.legal(log, "a turn without a message", next);
  const message = log.queue("More");
  cases.legal(log, "a turn for a message that waits", { ...next, message });
  withdrawals(cases, log, message);

  const text = { type: "text.start", run: main, block: "blk_9", index: 1, part: false } as const;
  cases.illegal(log, "L06", "a block of a turn that is over", { ...text, turn });
  cases.illegal(log, "L06", "a block of a turn that never was", { ...text, turn: "turn_9" });
  const takeover = { type: "turn.takeover", blocks: [], groups: [], runs: [] } as const;
  cases.illegal(log, "L06", "a takeover of a turn that is over", { ...takeover, turn });
  cases.legal(log, "a takeover while nothing runs", { ...takeover, turn: null });
  const { log: sub, on } = delegated();
  const end = { type: "turn.end", turn: "turn_9", reason: "end_turn", duration_ms: 1 } as const;
  cases.illegal(sub, "L06", "the end of a turn that never was", end);
  cases.legal(sub, "what belongs to the turn that runs", {
    type: "tool_result.delta",
    ...on,
    part: 0,
    media: "text",
    data: "x",
    done: true,
  });
  laterChanges(cases);
}

function withdrawals(cases: CaseRecorder, log: Story, message: string): void {
  const remove = { type: "message.remove", message } as const;
  cases.legal(log, "a message that waits is withdrawn", remove);
  cases.illegal(log, "L05", "an unknown message is withdrawn", { ...remove, message: "msg_9" });
  cases.illegal(log, "L05", "a message that has its turn is withdrawn", { ...remove, message: "msg_1" });
  const superseded = startedStory();
  const waited = superseded.queue("Never mind");
  cases.legal(superseded, "a message is withdrawn while a turn runs", { ...remove, message: waited });
  superseded.add({ ...remove, message: waited });
  cases.illegal(superseded, "L05", "a message is withdrawn twice", { ...remove, message: waited });
  superseded.text(["Hi"], { final: true }).end();
  const next = { type: "turn.start", turn: "turn_9", ...TURN } as const;
  cases.illegal(superseded, "L05", "a turn for a message that was withdrawn", { ...next, message: waited });
}

function laterChanges(cases: CaseRecorder): void {
  const log = startedStory();
  const asked = log.place();
  const questions = [{ id: "q", text: "?", options: [], multiple: false, free_text: true }];
  log.add({ type: "question.request", ...asked, key: "k_1", call: "call_1", questions });
  log.add({ type: "question.update", ...asked, version: 1, status: "dismissed" });
  const form = log.place();
  log.add({ type: "form.request", ...form, form: "form_1", schema: { id: "f", title: "F", fields: [] } });
  log.end("requires_interaction");
  cases.illegal(log, "L06", "an answer after the turn", {
    type: "question.update",
    ...asked,
    version: 2,
    status: "answered",
    answers: [],
  });
  cases.legal(log, "a form is submitted after its turn", {
    type: "form.update",
    ...form,
    version: 1,
    status: "submitted",
    values: {},
  });
}
