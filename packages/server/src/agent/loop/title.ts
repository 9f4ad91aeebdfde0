/**
 * `generateTitle` gives a new session a title: from the agent's title model, or else from the first line of the
 * message.
 *
 * Invariant: it never fails the turn and never replaces a title. The title, its event and the model's usage are one
 * commit.
 */
import { truncateText } from "@turnstream/protocol/writer";
import type { Model, Prompt } from "../../models/model.ts";
import { publishCommitted } from "../../session/archive/relay-outbox.ts";
import { askForText } from "../run/ask-once.ts";
import type { AgentTurn } from "../run/agent-turn.ts";
import type { Agent } from "../define/agent.ts";
import { usageKey } from "../../engine/attempt/journal-keys.ts";
import { toUsageRecord } from "../run/usage-record.ts";

/** The usage key of the title, which belongs to no run. */
const TITLE = "title";
const MAX_TITLE = 60;
const MAX_MESSAGE_CHARS = 2_000;
const ASK = "Give this conversation a title of two to six words, in its own language. Write only the title.";

/** Returns the first line, truncated at a word boundary. Pure. */
function titleFrom(text: string): string {
  const line = text.trim().split("\n", 1)[0]?.replaceAll(/\s+/g, " ") ?? "";
  if (line.length <= MAX_TITLE) return line;
  const cut = truncateText(line, MAX_TITLE - 1);
  const whole = cut.slice(0, Math.max(cut.lastIndexOf(" "), 1));
  return `${whole.length > MAX_TITLE / 2 ? whole : cut}…`;
}

/** Never fails the turn, because a session works without a title. */
export async function generateTitle(turn: AgentTurn, agent: Agent): Promise<void> {
  const { attempt } = turn;
  const { context, ref, row, writer } = attempt;
  const text = row.message?.text ?? "";
  if (agent.title === false || writer.title !== null || text.trim() === "") return;
  try {
    const { model } = agent.title;
    const generated = model === null ? null : await ask(turn, model, text);
    const title = titleFrom(generated?.text ?? "") || titleFrom(text);
    const spent =
      generated === null || model === null ? null : toUsageRecord(agent, model.modelId, generated.usage);
    if (spent !== null) attempt.usage.add(TITLE, spent);
    await context.store.transaction(async (tx) => {
      // The journal is closed once the turn has ended.
      const isOpen = (await tx.running.get(ref))?.turn === row.turn;
      if (spent !== null && isOpen) await attempt.journalIn(tx, usageKey(TITLE, `${attempt.epoch}`), spent);
      const session = await tx.sessions.find(ref);
      if (session === null || session.title !== null) return;
      await tx.sessions.rename({ tenant: row.tenant, user: row.user }, ref.session, title);
      await tx.outbox.add(ref, { key: `title/${row.turn}`, draft: { type: "session.update", title } });
    });
    turn.modelCalls.delete(TITLE);
    await publishCommitted(context, ref);
  } catch (error) {
    if (!attempt.signal.aborted) context.onError(error, { during: "generating the title of a session" });
  }
}

function ask(turn: AgentTurn, model: Model, message: string) {
  const text = truncateText(message, MAX_MESSAGE_CHARS);
  const prompt: Prompt = [
    { role: "system", content: ASK },
    { role: "user", content: [{ type: "text", text }] },
  ];
  return askForText(turn, TITLE, model, { prompt });
}
