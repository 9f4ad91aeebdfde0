/**
 * The prompt of a turn's main run: its instructions, the conversation before, and the message. Another try goes on from
 * where the turn that failed had got: what its tools did is done, and asking again from the start would do it twice.
 */
import type { UserMessage } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import type { RunScope } from "../run-scope.ts";
import { compactIfLong, promptOf } from "./compact.ts";
import { type Earlier, readEarlier, wholeOf, withoutLast } from "./history.ts";
import { userMessage } from "./turn-messages.ts";

export async function buildPrompt(scope: RunScope): Promise<Prompt> {
  const { attempt, pinned } = scope;
  const { turn, parts, ref, row } = attempt;
  const read = await readEarlier(parts.store, ref, turn);
  for (const { cited } of read.turns) {
    if (cited === null) continue;
    // What was found is found: it can be cited here, and no id of it is given again.
    scope.pool.add(cited.pool);
    attempt.references.startAfter(cited.lastId);
  }
  const { tried, earlier } = splitTried(read, row.retries);
  const before = promptOf(await compactIfLong(scope, earlier));
  const system =
    pinned.instructions === "" ? [] : [{ role: "system" as const, content: pinned.instructions }];
  return [...system, ...before, ...tried, ...(await messageOf(scope, row.message))];
}

/** The turns that are tried again, the first one first, without what they said last and why they ended. */
function splitTried(
  { summary, turns }: Earlier,
  retries: string | null,
): { readonly tried: Prompt; readonly earlier: Earlier } {
  let tried: Prompt = [];
  let rest = turns;
  for (let id = retries; id !== null;) {
    const failed = rest.find(({ turn }) => turn.id === id);
    rest = rest.filter((one) => one !== failed);
    tried = [...withoutLast(failed?.messages ?? []), ...tried];
    id = failed?.turn.retries ?? null;
  }
  return { tried, earlier: { summary, turns: rest } };
}

async function messageOf({ attempt }: RunScope, message: UserMessage | null): Promise<Prompt> {
  if (message === null) return [];
  return [userMessage(await wholeOf(attempt.parts.store, attempt.ref, message))];
}
