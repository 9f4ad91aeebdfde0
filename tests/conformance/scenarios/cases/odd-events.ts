/**
 * `oddEvents` returns a log with repeated, overlapping, late, diverged, unknown and invalid events, as a reader can
 * receive after failures or from another version. The fold accepts all of them; most change only the position. This
 * log is not valid: never use it where a valid log is required.
 */
import type { SessionEvent } from "@turnstream/protocol";

type Odd = { readonly id: string; readonly type: string; readonly [field: string]: unknown };

const turn = "turn_1";
const on = { turn, run: "run_1" };
const text = { ...on, block: "blk_1", index: 0 };
const call = { ...on, block: "blk_2", index: 3 };
const tool = { call: "call_1", name: "look_up", label: "" };
const result = { ...on, block: "blk_3", index: 4 };
const last = { turn: "turn_2", run: "run_2" };
const asked = { ...last, block: "blk_13", index: 3 };
const third = { turn: "turn_3", run: "run_3" };
const start = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false };

const odd: Odd[] = [
  { id: "1-1", type: "session.start", session: "ses_odd", number: 9, title: "Odd" },
  { id: "1-2", type: "session.start", session: "ses_other", number: 8 },
  { id: "1-3", type: "turn.start", turn, ...start },
  { id: "1-4", type: "run.start", ...on, agent: "a" },
  { id: "1-5", type: "text.start", ...text, part: false },
  { id: "1-6", type: "text.delta", ...text, text: "one " },
  // The same event again, and one of an earlier epoch.
  { id: "1-6", type: "text.delta", ...text, text: "one " },
  { id: "0-7", type: "text.delta", ...text, text: "zombie " },
  // Merged events: the fold ignores one that overlaps the last position, and applies one that follows it.
  { id: "1-8", first: 6, type: "text.delta", ...text, text: "one two " },
  { id: "1-8", first: 7, type: "text.delta", ...text, text: "two " },
  // From a newer writer: a type and a field that this reader doesn't know.
  { id: "1-9", type: "mood.change", turn, mood: "sunny ☀️" },
  { id: "1-10", type: "text.delta", ...text, text: "three", pace: "slow" },
  // For a block, an index, a run or a turn that doesn't exist.
  { id: "1-11", type: "text.delta", ...text, block: "blk_9", text: "lost" },
  { id: "1-12", type: "thinking.delta", ...text, text: "lost" },
  { id: "1-13", type: "thinking.start", ...on, block: "blk_8", index: 0 },
  { id: "1-14", type: "thinking.start", ...on, run: "run_9", block: "blk_8", index: 1 },
  { id: "1-15", type: "text.delta", ...text, turn: "turn_9", text: "lost" },
  // An index ahead of the counter leaves the indexes before it empty. An index too far ahead is ignored.
  { id: "1-16", type: "tool_call.start", ...call, ...tool },
  { id: "1-17", type: "thinking.start", ...on, block: "blk_8", index: 4000 },
  { id: "1-18", type: "tool_call.delta", ...call, args: '{"q":"né' },
  { id: "1-19", type: "tool_call.end", ...call },
  { id: "1-20", type: "tool_result.start", ...result, ...tool },
  { id: "1-21", type: "tool_result.delta", ...result, part: 2, media: "text", data: "lost", done: true },
  { id: "1-22", type: "tool_result.end", ...result, status: "success", preview: "found", artifact: null },
  { id: "1-23", type: "group.start", ...on, group: "grp_1", index: 5 },
  { id: "1-24", type: "group.end", ...on, group: "grp_1", index: 6, summary: "" },
  { id: "1-25", type: "payment.update", ...text, version: 1, status: "succeeded" },
  // From another timeline: a higher epoch at a used position, and a higher epoch that no event started.
  { id: "2-10", type: "text.delta", ...text, text: "diverged" },
  { id: "2-25", type: "turn.start", turn: "turn_7", ...start },
  { id: "2-26", type: "session.update", title: "Diverged" },
  { id: "2-26", type: "text.delta", ...text, text: "diverged" },
  // A new turn closes a turn that is still running. Late events for that turn change nothing.
  { id: "2-26", type: "turn.start", turn: "turn_2", ...start, number: 2, message: "msg_9" },
  { id: "2-27", type: "text.delta", ...text, text: " late" },
  { id: "2-28", type: "turn.end", turn, reason: "end_turn", duration_ms: 1 },
  { id: "not-a-position", type: "session.update", title: "Nowhere" },
  { id: "2-40", type: "session.update", title: "After a gap" },
  { id: "1-41", type: "session.update", title: "Stale" },
  // The end of a turn closes what its writer left open. Late events for it change nothing.
  { id: "2-41", type: "run.start", ...last, agent: "a" },
  { id: "2-42", type: "thinking.start", ...last, block: "blk_10", index: 0 },
  { id: "2-43", type: "thinking.delta", ...last, block: "blk_10", index: 0, text: "half a thou" },
  { id: "2-44", type: "text.start", ...last, block: "blk_11", index: 1, part: false },
  { id: "2-45", type: "text.delta", ...last, block: "blk_11", index: 1, text: "half an ans" },
  { id: "2-46", type: "tool_call.start", ...last, block: "blk_12", index: 2, ...tool, call: "call_2" },
  { id: "2-47", type: "tool_call.delta", ...last, block: "blk_12", index: 2, args: '{"half":"ar' },
  { id: "2-48", type: "question.request", ...asked, key: "key_1", call: "call_3", questions: [] },
  { id: "2-49", type: "turn.end", turn: "turn_2", reason: "end_turn", duration_ms: 5 },
  { id: "2-50", type: "text.delta", ...last, block: "blk_11", index: 1, text: "late" },
  { id: "2-51", type: "question.update", ...asked, version: 2, status: "answered", answers: [] },
  // A notice also closes what is open.
  { id: "2-52", type: "turn.start", turn: "turn_3", ...start, number: 3 },
  { id: "2-53", type: "run.start", turn: "turn_3", run: "run_3", agent: "a" },
  { id: "2-54", type: "text.start", ...third, block: "blk_14", index: 0, part: false },
  { id: "2-55", type: "text.delta", ...third, block: "blk_14", index: 0, text: "half" },
  { id: "2-56", type: "notice.stopped", ...third, block: "blk_15", index: 1, text: "Stopped." },
  { id: "2-57", type: "turn.end", turn: "turn_3", reason: "user_stopped", duration_ms: 5 },
  // Removes an unknown message, a queued one, and the same again.
  { id: "2-58", type: "message.remove", message: "msg_9" },
  { id: "2-59", type: "message.add", message: "msg_10", text: "Never mind" },
  { id: "2-60", type: "message.remove", message: "msg_10" },
  { id: "2-61", type: "message.remove", message: "msg_10" },
];

export function oddEvents(): readonly SessionEvent[] {
  return odd.map(
    (event, n) => ({ v: 1, at: 1_800_000_000_000 + n * 40, ...event }) as unknown as SessionEvent,
  );
}
