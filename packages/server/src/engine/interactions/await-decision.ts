/**
 * `awaitDecision` commits a request to the user in the store and waits for its decision, for any time and across
 * attempts. `withdrawPending` cancels the requests of a turn or call that ends.
 *
 * Invariant: a request is committed together with its archive, so that one that can be decided survives the loss of the
 * log. The decision is in the log before the turn acts on it. A form in a tool is the exception: its decision is in the
 * log before the tool's result. A withdrawal is written to the store first, because a user may decide at the same time.
 */
import {
  type ApprovalBlock,
  type Block,
  type FormBlock,
  isPending,
  type Json,
  listBlocks,
  type QuestionBlock,
  type RequestBlock,
} from "@turnstream/protocol";
import { interactionId, outlivesTurn } from "@turnstream/protocol/writer";
import { publishCommitted } from "../../session/archive/relay-outbox.ts";
import { transitionInteraction, updateEvent } from "../../session/interactions/transition.ts";
import { enqueueInteractionEvent } from "../../session/webhooks/enqueue-events.ts";
import { StoreError } from "../../store/errors.ts";
import type { Interaction, InteractionChange } from "../../store/interactions.ts";
import type { Store } from "../../store/store.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { requestedKey } from "../attempt/journal-keys.ts";
import type { BlockDraft, TurnEventDraft } from "../events/turn-writer.ts";
import type { DecisionWaiter } from "../attempt/decision-waiters.ts";
import { defined } from "../../util/defined.ts";

/** How often the store is read in case a signal was lost. */
const LOOK_MS = 60_000;
/** Minimum wait if our clock is ahead of the database's, which decides about deadlines. */
const EARLY_MS = 100;

/** A block that the turn waits for. */
export type PendingBlock = ApprovalBlock | QuestionBlock | FormBlock;

/** Returns the id of a request in the store. One call can request several forms, so each form has its own id. */
export function storedInteractionId(turn: string, block: PendingBlock | RequestBlock): string {
  return "key" in block ? `${turn}/${block.call ?? ""}` : interactionId(block);
}

/** More than the number of items in a turn. */
const PLACES = 1_000_000;

/**
 * Returns a key that is unique in the session, for users and commands. It contains the epoch of this attempt: if a
 * request is lost with the log, another request can get the same index. A user who saw the first must not decide on the
 * second.
 */
export function requestKey({ row, turn, epoch }: Pick<TurnAttempt, "row" | "turn" | "epoch">): string {
  return `${row.session}_${epoch * PLACES + turn.items.length}`;
}

/** Returns the newest request of a call in the turn. */
export function findPending<Kind extends PendingBlock["kind"]>(
  { turn }: TurnAttempt,
  kind: Kind,
  call: string,
): Extract<PendingBlock, { kind: Kind }> | undefined {
  return listBlocks(turn).findLast(
    (block): block is Extract<PendingBlock, { kind: Kind }> => block.kind === kind && block.call === call,
  );
}

/** Writes a request to the log, and returns its block. */
export async function writePending<Kind extends PendingBlock["kind"]>(
  { writer }: TurnAttempt,
  kind: Kind,
  draft: Extract<BlockDraft, { type: `${Kind}.request` }>,
): Promise<Extract<PendingBlock, { kind: Kind }>> {
  const { place, written } = writer.startSync(draft);
  await written;
  await writer.flush();
  const block = writer.turn.items.get(place.index);
  if (block?.kind !== kind) throw new Error(`the ${kind} ${place.block} is missing after it was written`);
  return block as Extract<PendingBlock, { kind: Kind }>;
}

interface CommitRequestOptions {
  /** The schema by which a user's edits are checked. */
  readonly schema?: Json;
  /** Additional writes in the same transaction. */
  readonly alsoCommit?: (tx: Store) => Promise<void>;
}

interface AwaitDecisionOptions extends CommitRequestOptions {
  /** False if the turn must stay in this process during the wait. @default true */
  readonly canPark?: boolean;
}

/** @param block the request as written to the log */
export async function awaitDecision(
  attempt: TurnAttempt,
  block: PendingBlock,
  request: object,
  { canPark = true, ...options }: AwaitDecisionOptions = {},
): Promise<InteractionChange> {
  const { context, ref } = attempt;
  const interaction = await commitRequest(attempt, block, request as Json, options);
  const change = await wait(attempt, interaction, canPark);
  attempt.signal.throwIfAborted();
  const { failure } = await publishCommitted(context, ref);
  if (failure === null) applyDecision(attempt, block, change);
  // A tool can use a submitted form before its event is published; it is published before the tool's result.
  else if (block.kind !== "form") throw failure;
  return change;
}

/**
 * Commits a request that is already in the log, and archives it in the same transaction. A request that can be decided
 * then survives the loss of the log. Repeating it changes nothing.
 */
export async function commitRequest(
  attempt: TurnAttempt,
  block: PendingBlock | RequestBlock,
  request: Json,
  { schema, alsoCommit }: CommitRequestOptions = {},
): Promise<Interaction> {
  const { context, ref, row } = attempt;
  const { deadline, kind, run, id, index, call } = block;
  const pending = {
    id: storedInteractionId(row.turn, block),
    kind,
    turn: row.turn,
    run,
    block: id,
    index,
    key: interactionId(block),
    request,
    ...defined({
      call: call ?? undefined,
      digest: block.kind === "approval" ? (block.digest ?? undefined) : undefined,
      schema,
      deadlineMs: deadline === null ? undefined : Math.max(0, deadline - context.env.now()),
    }),
  };
  const known = await context.store.interactions.get(ref, pending.id);
  if (known !== null) return known;
  let made: Interaction | null = null;
  await attempt.archive(async (tx) => {
    await attempt.journalIn(tx, requestedKey(pending.id), true);
    made = (await tx.interactions.request(ref, pending)).interaction;
    await alsoCommit?.(tx);
    await enqueueInteractionEvent(tx, ref, made);
  });
  return made as unknown as Interaction;
}

async function wait(
  attempt: TurnAttempt,
  pending: Interaction,
  canPark: boolean,
): Promise<InteractionChange> {
  const waiter = attempt.context.decisionWaiters.open(attempt.ref);
  const untilDecided = async (): Promise<InteractionChange> => {
    while (true) {
      attempt.signal.throwIfAborted();
      waiter.markChecked();
      const change = await lookOnce(attempt, pending, waiter);
      if (change !== null) return change;
    }
  };
  try {
    // A turn that was parked until the decision must not be parked again before it has read the decision.
    const { change } = await readDecision(attempt, pending);
    if (change !== null) return change;
    return await (canPark ? attempt.branches.wait(pending, untilDecided) : untilDecided());
  } finally {
    waiter.close();
  }
}

/** Reads the decision once. If there is none, waits for a while and returns null. */
async function lookOnce(
  attempt: TurnAttempt,
  pending: Interaction,
  waiter: DecisionWaiter,
): Promise<InteractionChange | null> {
  const { context, ref, signal, whileWaiting } = attempt;
  const { now, change } = await readDecision(attempt, pending);
  if (change !== null) return change;
  const left = now.deadline === null ? LOOK_MS : now.deadline - context.env.now();
  if (left > 0) await whileWaiting(() => waiter.wait(Math.min(left, LOOK_MS), signal));
  else {
    const result = await context.store.transaction((tx) =>
      transitionInteraction(tx, ref, now, { to: now.kind === "form" ? "expired" : "timed_out" }),
    );
    if (!result.applied && result.reason === "early") {
      const early = Math.max(EARLY_MS, (result.current.deadline ?? Infinity) - result.at);
      await whileWaiting(() => waiter.wait(Math.min(early, LOOK_MS), signal));
    }
  }
  return null;
}

async function readDecision(
  { context, ref }: TurnAttempt,
  { id, kind, key }: Interaction,
): Promise<{ readonly now: Interaction; readonly change: InteractionChange | null }> {
  const { interactions } = context.store;
  const now = await interactions.get(ref, id);
  if (now === null) throw new StoreError("NOT_FOUND", `${kind} ${key}`);
  if (now.status === "pending") return { now, change: null };
  const change = (await interactions.changes(ref, id)).at(-1);
  if (change === undefined) throw new StoreError("INTERNAL", `${kind} ${key}`);
  return { now, change };
}

/** Applies a published decision to the attempt's own copy of the turn. */
function applyDecision({ writer }: TurnAttempt, block: PendingBlock, change: InteractionChange): void {
  if (block.version >= change.version) return;
  const { kind, run, id, index } = block;
  writer.applyExternal(updateEvent({ kind, run, block: id, index }, change) as TurnEventDraft);
}

/**
 * Cancels pending interactions of a turn or call that ends, except requests that outlive the turn. Whichever change wins
 * is published before the turn closes.
 * @param isIncluded selects the interactions to cancel. Default: all
 */
export async function withdrawPending(
  attempt: TurnAttempt,
  isIncluded: (block: PendingBlock) => boolean = () => true,
): Promise<void> {
  const { context, ref, row, turn } = attempt;
  const pending = listBlocks(turn).filter(isPendingBlock).filter(isIncluded);
  if (pending.length === 0) return;
  const { interactions } = context.store;
  for (const block of pending) {
    const id = storedInteractionId(row.turn, block);
    await context.store.transaction(async (tx) => {
      const interaction = await tx.interactions.get(ref, id);
      // The request is in the log but was never committed, so the closing events of the turn cancel it.
      if (interaction !== null) await transitionInteraction(tx, ref, interaction, { to: "cancelled" });
    });
  }
  const { failure } = await publishCommitted(context, ref);
  if (failure !== null) throw failure;
  for (const block of pending) {
    const change = (await interactions.changes(ref, storedInteractionId(row.turn, block))).at(-1);
    if (change !== undefined) applyDecision(attempt, block, change);
  }
}

function isPendingBlock(block: Block): block is PendingBlock {
  return "version" in block && isPending(block) && !outlivesTurn(block);
}
