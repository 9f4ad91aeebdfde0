/**
 * `buildPrompt` builds the prompt of the main run: instructions, prior turns and the message, in this order.
 *
 * Invariant: a retry continues from where the failed turn stopped. Its finished tool calls stay in the prompt and are
 * never compacted, so that the model doesn't request them twice. Their reference ids are not allocated again.
 */
import type { Turn, UserMessage } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import { fileKey } from "../run/journal-entries.ts";
import { type RunContext, systemPrompt } from "../run/run-context.ts";
import { compactIfNeeded, summaryPrompt } from "./compact.ts";
import { listMessages, continuationMessage } from "./continuations.ts";
import { hasResult } from "./interaction-result.ts";
import { type PriorTurns, readPriorTurns, readContinuation, loadWhole, dropLast } from "./prior-turns.ts";
import { isEmptyMessage, userMessage } from "./turn-messages.ts";

/**
 * How many times the budget of a prompt is read. Turns since the last compaction fill it at most once, and the newest
 * turn adds to it. So a compaction reads all turns that it sums up.
 */
const READ_BUDGETS = 2;

export async function buildPrompt(scope: RunContext): Promise<Prompt> {
  const { attempt, agent, pinned } = scope;
  const { turn, row } = attempt;
  const read = await readPriorTurns(attempt, turn, {
    withImages: pinned.images !== null,
    maxTokens: READ_BUDGETS * agent.compaction.afterTokens,
    readNow: (n) => attempt.fromJournal(fileKey(n)),
  });
  for (const { cited } of read.turns) {
    if (cited === null) continue;
    // References of the retried turn can still be cited, so their ids must not be allocated again.
    scope.pool.add(cited.pool);
    scope.references.startAfter(cited.lastId);
  }
  const { tried: retried, earlier } = splitRetried(read, row.retries);
  const system = systemPrompt(pinned);
  const message = await messageOf(scope, row.message);
  const prior = await compactIfNeeded(scope, earlier, [...system, ...listMessages(retried), ...message]);
  const continuation = await readContinuation(attempt, row.message);
  const isFirst = turn.number === 1;
  const note = isFirst ? null : await readNotes(scope, [...prior.turns, ...retried]);
  return [
    ...system,
    ...summaryPrompt(prior, note),
    ...listMessages(retried, prior.turns),
    ...continuationMessage(row.message, continuation, prior.turns),
    ...message,
  ];
}

/** @returns null if the prompt has the results of all requests that the model must know */
async function readNotes(
  { attempt: { context, ref } }: RunContext,
  turns: readonly { readonly turn: Turn }[],
): Promise<string | null> {
  const isInPrompt = (id: string): boolean => turns.some(({ turn }) => hasResult(turn, id));
  const notes: string[] = [];
  for (const kind of context.requestKinds.values()) {
    const note = await kind.note?.(context.store, ref, isInPrompt);
    if (note !== null && note !== undefined) notes.push(note);
  }
  return notes.length === 0 ? null : notes.join("\n");
}

/** Splits off the retried turns, oldest first, without their last assistant message. */
function splitRetried(
  { summary, turns }: PriorTurns,
  retries: string | null,
): { readonly tried: PriorTurns["turns"]; readonly earlier: PriorTurns } {
  const chain = new Set<string>();
  for (let id = retries; id !== null; id = turns.find(({ turn }) => turn.id === id)?.turn.retries ?? null)
    chain.add(id);
  const retried = turns
    .filter(({ turn }) => chain.has(turn.id))
    .map((entry) => ({ ...entry, messages: dropLast(entry.messages) }));
  return { tried: retried, earlier: { summary, turns: turns.filter(({ turn }) => !chain.has(turn.id)) } };
}

async function messageOf({ attempt, pinned }: RunContext, message: UserMessage | null): Promise<Prompt> {
  if (message === null || isEmptyMessage(message)) return [];
  const whole = await loadWhole(attempt, message);
  const fileOf = (n: number) => attempt.fromJournal(fileKey(n));
  const withImages = pinned.images !== null;
  return [userMessage(whole, { fileOf, resultChars: Infinity, withImages })];
}
