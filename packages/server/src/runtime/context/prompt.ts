/**
 * The prompt of a turn's main run: its instructions, the conversation before, and the message. Another try goes on from
 * where the turn that failed had got: what its tools did is done, and asking again from the start would do it twice.
 */
import type { UserMessage } from "@turnstream/protocol";
import type { Prompt } from "../../models/model.ts";
import { fileKey } from "../facts.ts";
import type { RunScope } from "../run-scope.ts";
import { compactIfLong, promptOf } from "./compact.ts";
import { formResult } from "./form-result.ts";
import { type Earlier, GONE_ON, readEarlier, readOutcome, wholeOf, withoutLast } from "./history.ts";
import { isWordless, userMessage } from "./turn-messages.ts";

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
  const rest = [...before, ...tried];
  // A form's result is what the model goes on from, where it is the last thing it has read.
  const goesOn = row.message !== null && isWordless(row.message);
  if (goesOn && rest.at(-1)?.role === "tool") return [...system, ...rest];
  const message = goesOn && row.message !== null ? await spelledOut(scope, row.message) : row.message;
  return [...system, ...rest, ...(await messageOf(scope, message))];
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

/** Much was said since the form was asked for: it may even be summed up by now. */
async function spelledOut({ attempt }: RunScope, message: UserMessage): Promise<UserMessage> {
  const outcome = await readOutcome(attempt.parts.store, attempt.ref, message.resumes ?? "");
  const text = outcome === null ? GONE_ON : `${GONE_ON}\n${JSON.stringify(formResult(outcome))}`;
  return { ...message, text };
}

async function messageOf({ attempt }: RunScope, message: UserMessage | null): Promise<Prompt> {
  if (message === null) return [];
  const whole = await wholeOf(attempt.parts.store, attempt.ref, message);
  return [userMessage(whole, { fileOf: (n) => attempt.recall(fileKey(n)), resultChars: Infinity })];
}
