/**
 * The prompt of a turn's main run: its instructions, the conversation before, and the message. Another try goes on from
 * where the turn that failed had got: what its tools did is done, and asking again from the start would do it twice.
 */
import type { UserMessage } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import { fileKey } from "../attempt/journal-entries.ts";
import type { RunScope } from "../attempt/run-context.ts";
import { compactIfLong, promptOf } from "./compact.ts";
import { toldMessages, triggerOf } from "./form-continuations.ts";
import { type Earlier, readEarlier, readGone, wholeOf, withoutLast } from "./prior-turns.ts";
import { isWordless, userMessage } from "./turn-messages.ts";

export async function buildPrompt(scope: RunScope): Promise<Prompt> {
  const { attempt, pinned } = scope;
  const { turn, parts, ref, row } = attempt;
  const read = await readEarlier(parts.store, ref, turn, (n) => attempt.recall(fileKey(n)));
  for (const { cited } of read.turns) {
    if (cited === null) continue;
    // What was found is found: it can be cited here, and no id of it is given again.
    scope.pool.add(cited.pool);
    attempt.references.startAfter(cited.lastId);
  }
  const { tried, earlier } = splitTried(read, row.retries);
  const system =
    pinned.instructions === "" ? [] : [{ role: "system" as const, content: pinned.instructions }];
  const message = await messageOf(scope, row.message);
  const told = await compactIfLong(scope, earlier, [...system, ...toldMessages(tried), ...message]);
  const gone = await readGone(parts.store, ref, row.message);
  return [
    ...system,
    ...promptOf(told),
    ...toldMessages(tried, told.turns),
    ...triggerOf(row.message, gone, told.turns),
    ...message,
  ];
}

/** The turns that are tried again, the first one first, without what they said last and why they ended. */
function splitTried(
  { summary, turns }: Earlier,
  retries: string | null,
): { readonly tried: Earlier["turns"]; readonly earlier: Earlier } {
  const chain = new Set<string>();
  for (let id = retries; id !== null; id = turns.find(({ turn }) => turn.id === id)?.turn.retries ?? null)
    chain.add(id);
  const tried = turns
    .filter(({ turn }) => chain.has(turn.id))
    .map((one) => ({ ...one, messages: withoutLast(one.messages) }));
  return { tried, earlier: { summary, turns: turns.filter(({ turn }) => !chain.has(turn.id)) } };
}

async function messageOf({ attempt }: RunScope, message: UserMessage | null): Promise<Prompt> {
  if (message === null || isWordless(message)) return [];
  const whole = await wholeOf(attempt.parts.store, attempt.ref, message);
  return [userMessage(whole, { fileOf: (n) => attempt.recall(fileKey(n)), resultChars: Infinity })];
}
