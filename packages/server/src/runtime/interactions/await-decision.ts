/**
 * Asks a person something that the turn waits for: committed as a durable state machine in the store, and waited for,
 * however long and in however many attempts. Whatever was decided is in the log before anything follows from it.
 */
import type { ApprovalBlock, FormBlock, Json, QuestionBlock } from "@turnstream/protocol";
import { interactionId } from "@turnstream/protocol/writer";
import { publishCommitted } from "../../session/archive/relay-outbox.ts";
import { transitionInteraction, updateEvent } from "../../session/interactions/transition.ts";
import { StoreError } from "../../store/errors.ts";
import type { Interaction, InteractionChange } from "../../store/ports/interactions.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { requestedKey } from "../attempt/journal-entries.ts";
import type { TurnEventDraft } from "../events/turn-writer.ts";
import type { DecisionWaiter } from "../attempt/context.ts";

/** Looks by itself that often, in case nobody told us. */
const LOOK_MS = 60_000;
/** Our clock may be ahead of the database's, by which the deadline goes: then the database says how long to wait. */
const EARLY_MS = 100;

/** What a turn waits for. */
export type PendingBlock = ApprovalBlock | QuestionBlock | FormBlock;

/** What it is called when nobody decides in time. */
const EXPIRY = { approval: "timed_out", question: "timed_out", form: "expired", payment: "expired" } as const;

/** The id under which a told request is kept. One call may ask for several forms, and each has an id of its own. */
export function storedInteractionId(turn: string, block: PendingBlock): string {
  return block.kind === "form" ? block.form : `${turn}/${block.call ?? ""}`;
}

/** More than a turn has places. */
const PLACES = 1_000_000;

/**
 * What people and commands call a request that is about to be told: a number that no other of the session has. By the
 * epoch, which is this attempt's alone: a place whose request was lost with the log may get another one, and who has
 * seen the first must not decide on that.
 */
export function requestKey({ row, turn, epoch }: Pick<TurnAttempt, "row" | "turn" | "epoch">): string {
  return `${row.session}_${epoch * PLACES + turn.items.length}`;
}

/** @param block as it was told */
export async function awaitDecision(
  attempt: TurnAttempt,
  block: PendingBlock,
  request: Json,
  schema?: Json,
): Promise<InteractionChange> {
  const { context, ref } = attempt;
  const interaction = await commitRequest(attempt, block, request, schema);
  const change = await wait(attempt, interaction);
  const { failure } = await publishCommitted(context, ref);
  if (failure === null) applyDecision(attempt, block, change);
  // A tool in the middle of its work can use what the person has filled in: it is told before the tool's result.
  else if (block.kind !== "form") throw failure;
  return change;
}

/**
 * Told already, and archived in the same commit: what can be decided has its place, also when the log is lost. A repeat
 * changes nothing.
 */
export async function commitRequest(
  attempt: TurnAttempt,
  block: PendingBlock,
  request: Json,
  schema?: Json,
): Promise<Interaction> {
  const { context, ref, row } = attempt;
  const { deadline, kind, run, id, index, call } = block;
  const digest = block.kind === "approval" ? block.digest : null;
  const pending = {
    id: storedInteractionId(row.turn, block),
    kind,
    turn: row.turn,
    run,
    block: id,
    index,
    key: interactionId(block),
    request,
    ...(call === null ? {} : { call }),
    ...(digest === null ? {} : { digest }),
    ...(schema === undefined ? {} : { schema }),
    ...(deadline === null ? {} : { deadlineMs: Math.max(0, deadline - context.env.now()) }),
  };
  const known = await context.store.interactions.get(ref, pending.id);
  if (known !== null) return known;
  let made: Interaction | null = null;
  await attempt.archive(async (tx) => {
    await attempt.journalIn(tx, requestedKey(pending.id), true);
    made = (await tx.interactions.request(ref, pending)).interaction;
  });
  return made as unknown as Interaction;
}

async function wait(attempt: TurnAttempt, pending: Interaction): Promise<InteractionChange> {
  const waiter = attempt.context.decisionWaiters.open(attempt.ref.session);
  try {
    while (true) {
      attempt.signal.throwIfAborted();
      waiter.markChecked();
      const change = await lookOnce(attempt, pending, waiter);
      if (change !== null) return change;
    }
  } finally {
    waiter.close();
  }
}

/** Null when it is not decided yet, after a while. */
async function lookOnce(
  { context, ref, signal, whileWaiting }: TurnAttempt,
  pending: Interaction,
  waiter: DecisionWaiter,
): Promise<InteractionChange | null> {
  const { interactions } = context.store;
  const now = await interactions.get(ref, pending.id);
  if (now === null) throw new StoreError("NOT_FOUND", `${pending.kind} ${pending.key}`);
  if (now.status !== "pending") {
    const change = (await interactions.changes(ref, pending.id)).at(-1);
    if (change === undefined) throw new StoreError("INTERNAL", `${pending.kind} ${pending.key}`);
    return change;
  }
  const left = now.deadline === null ? LOOK_MS : now.deadline - context.env.now();
  if (left > 0) await whileWaiting(() => waiter.wait(Math.min(left, LOOK_MS), signal));
  else {
    const result = await context.store.transaction((tx) =>
      transitionInteraction(tx, ref, now, { to: EXPIRY[now.kind] }),
    );
    if (!result.applied && result.reason === "early") {
      const early = Math.max(EARLY_MS, (result.current.deadline ?? Infinity) - result.at);
      await whileWaiting(() => waiter.wait(Math.min(early, LOOK_MS), signal));
    }
  }
  return null;
}

/** Lets an attempt's own copy of its turn know what others have decided and told. */
export function applyDecision({ writer }: TurnAttempt, block: PendingBlock, change: InteractionChange): void {
  if (block.version >= change.version) return;
  const { kind, run, id, index } = block;
  writer.applyExternal(updateEvent({ kind, run, block: id, index }, change) as TurnEventDraft);
}
