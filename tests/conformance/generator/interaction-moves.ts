/**
 * `interactionMoves` lists the moves of interactions: requests inside the turn, decisions, and changes of forms and
 * payments at any time.
 */
import { type Block, type InteractionBlock, isPending, type Turn } from "@turnstream/protocol";
import { outlivesTurn, TRANSITIONS } from "@turnstream/protocol/writer";
import { findWaitingForm } from "../../../packages/protocol/src/turn-queries.ts";
import type { LogWriter } from "../support/log-writer.ts";
import { on } from "./close.ts";
import type { Choice } from "./choice.ts";
import { blocksIn, type Move, pickOne, unanswered } from "./move.ts";

export function interactionMoves(w: LogWriter, turn: Turn | undefined, choice: Choice): Move[] {
  const moves: Move[] = [];
  const late = w.state.turns.toArray().flatMap(lateIn);
  const change = pickOne(late, choice.which);
  if (change !== undefined) moves.push([10, () => update(w, change.turn, change.block, choice)]);
  return turn === undefined ? moves : [...moves, ...requests(w, turn, choice), ...decisions(w, turn, choice)];
}

interface Late {
  readonly turn: Turn;
  readonly block: InteractionBlock;
}

const lates = new WeakMap<Turn, readonly Late[]>();

/** The interactions of a turn that can still change after its end. */
function lateIn(turn: Turn): readonly Late[] {
  const known =
    lates.get(turn) ?? blocksIn(turn).flatMap((block) => (isLate(block) ? [{ turn, block }] : []));
  lates.set(turn, known);
  return known;
}

function isLate(block: Block): block is InteractionBlock {
  return "version" in block && outlivesTurn(block) && isPending(block);
}

function decisions(w: LogWriter, turn: Turn, choice: Choice): Move[] {
  const waiting = blocksIn(turn).filter(
    (b): b is InteractionBlock => "version" in b && isPending(b) && !outlivesTurn(b),
  );
  const block = pickOne(waiting, choice.which);
  return block === undefined ? [] : [[12, () => update(w, turn, block, choice)]];
}

function update(w: LogWriter, turn: Turn, block: InteractionBlock, { which, text }: Choice): void {
  const status = pickOne(TRANSITIONS[block.kind][block.status] ?? [], which >> 1) ?? "";
  const reason = which % 3 === 0 ? { reason: text } : {};
  const at = {
    ...on(turn, block),
    version: block.version + 1 + (which % 2),
    ...reason,
    ...(which % 4 ? { by: "usr_an" } : {}),
  };
  switch (block.kind) {
    case "approval": {
      const known = status === "edited" && !block.editable ? "approved" : status;
      const actions = block.actions.map((action) => ({ ...action, input: { quantity: which } }));
      const edited = known === "edited" ? { actions } : {};
      const always =
        known === "approved" && block.offers_always && which % 2 === 0 ? { always: true as const } : {};
      w.add({ type: "approval.update", ...at, status: known as "approved", ...edited, ...always });
      return;
    }
    case "question": {
      const [waiting] = w.state.waiting;
      const message = waiting !== undefined && which % 2 === 0 ? { message: waiting.id } : {};
      const answered = { answers: [{ question: "q1", selected: ["o1"], text }], ...message };
      const answers = status === "answered" ? answered : {};
      w.add({ type: "question.update", ...at, status: status as "answered", ...answers });
      return;
    }
    case "form": {
      const values = status === "submitted" ? { values: { email: text } } : {};
      w.add({ type: "form.update", ...at, status: status as "submitted", ...values });
      return;
    }
    case "payment":
      w.add({ type: "payment.update", ...at, status: status as "processing" });
  }
}

function requests(w: LogWriter, turn: Turn, { which, text }: Choice): Move[] {
  const moves: Move[] = [];
  const ready = unanswered(turn).filter(
    (call) => call.end !== null && isUntouched(turn, call.call) && runs(turn, call.run),
  );
  const call = pickOne(ready, which);
  const due = { timeout_seconds: 300, deadline: 1_800_000_300_000 };
  if (call !== undefined) {
    const shown = which % 2 ? { label: text } : {};
    const from = which % 3 ? {} : { server: "Bank", title: text };
    const actions = [{ name: call.name, input: call.input, ...shown, ...from }];
    const key = `${w.state.session}_${w.state.seq}`;
    moves.push([
      10,
      () =>
        w.add({
          type: "approval.request",
          ...w.place(call.run),
          key,
          call: call.call,
          actions,
          editable: which % 2 === 0,
          ...(which % 3 === 0 ? { always: true as const } : {}),
          ...due,
        }),
    ]);
  }
  const atWork = blocksIn(turn).filter(
    (b) => b.kind === "tool_result" && b.end === null && runs(turn, b.run),
  );
  const asks = pickOne(atWork, which);
  if (asks?.kind === "tool_result" && findWaitingForm(turn, asks.call) === undefined) {
    const place = { ...w.place(asks.run), form: w.id("form"), call: asks.call, waits: true as const };
    const fields = [{ name: "email", label: text, type: "email", required: false }] as const;
    const schema = { id: "ask", title: text, fields };
    moves.push([6, () => w.add({ type: "form.request", ...place, schema, ...(which % 2 ? due : {}) })]);
  }
  const main = turn.runs.find((run) => run.parent === null);
  if (main === undefined || turn.group !== null || turn.open > 0) return moves;
  const place = w.place(main.id);
  const key = `${w.state.session}_${w.state.seq}`;
  const options = [{ id: "o1", label: "yes" }];
  const questions = [{ id: "q1", text: `which ${text}`, options, multiple: false, free_text: true }];
  moves.push([
    8,
    () => w.add({ type: "question.request", ...place, key, call: w.id("call"), questions, ...due }),
  ]);
  const field = { name: "email", label: "Email", type: "shortText", required: true } as const;
  const schema = { id: "contact", title: text, fields: [field] };
  moves.push([6, () => w.add({ type: "form.request", ...place, form: w.id("form"), schema })]);
  const currency = which % 2 === 0 ? "TWD" : "VND";
  const checkout_url = "https://example.com/checkout";
  const payment = {
    payment: w.id("pay"),
    order_no: w.id("CDR"),
    amount: 1200 + which,
    currency,
    description: text,
    checkout_url,
    ...(which % 3 === 0 ? { deadline: due.deadline } : {}),
  };
  moves.push([16, () => w.add({ type: "payment.request", ...place, ...payment })]);
  return moves;
}

function runs(turn: Turn, run: string): boolean {
  return turn.runs.some((r) => r.id === run && r.status === "running");
}

function isUntouched(turn: Turn, call: string): boolean {
  return !blocksIn(turn).some((b) => (b.kind === "approval" || b.kind === "tool_result") && b.call === call);
}
