/**
 * `lookupHistoryTool` creates the tool `lookup_history`: it searches and reads earlier turns of its own session, for
 * conversations that no longer fit the prompt.
 *
 * Invariant: it only reads the session that it runs in, and only archived turns before the current one. One call reads
 * at most the newest 1,000 turns.
 */
import { restoreTurn, type Turn } from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import { z } from "zod";
import { queryTerms, snippetOf } from "../../store/rules/search.ts";
import { defined } from "../../util/defined.ts";
import type { TurnAttempt } from "../attempt/attempt.ts";
import { type Tool, tool, ToolError, type ToolOutput } from "../define/tool.ts";
import { attachOutcomes, loadWhole } from "../prompt/prior-turns.ts";
import { hostOf } from "../tool-calls/run-tool.ts";
import { rankByTerms } from "./rank-by-terms.ts";
import { turnToText } from "./turn-text.ts";

const PAGE = 50;
/** How many turns one call searches. */
const MAX_TURNS = 1_000;
const MOST_FOUND = 20;
const SNIPPET_CHARS = 300;
const READ_CHARS = 10_000;
/** How much of each turn is searched. */
const SEARCH_CHARS = 10_000;

const input = z.object({
  query: z
    .string()
    .max(1_000)
    .optional()
    .describe("Terms to search for; without it, the newest turns come first."),
  turn: z.int().positive().optional().describe("The number of a turn to read instead."),
  offset: z.int().nonnegative().optional().describe("turn: the character to continue from."),
  before: z.int().positive().optional().describe("Only turns with a smaller number, for the next page."),
  limit: z.int().min(1).max(MOST_FOUND).optional(),
});

type Input = z.infer<typeof input>;

export function lookupHistoryTool(): Tool {
  return tool({
    description:
      "Looks up messages, submitted forms and decisions from earlier in this conversation: searches its turns by terms, lists them, or reads one by its number. Use it when the user refers to something that is no longer in your context.",
    label: "Looking through the conversation",
    input,
    idempotent: true,
    run: (query, context) => {
      const { attempt } = hostOf(context).scope;
      return query.turn === undefined ? find(attempt, query) : read(attempt, query.turn, query.offset ?? 0);
    },
  });
}

/** Yields archived turns with a number below that of the turn and below `before`, newest first. */
async function* earlier({ context, ref, turn: now }: TurnAttempt, before: number): AsyncGenerator<Turn> {
  const { store, requestKinds } = context;
  const end = Math.min(now.number, before);
  let start: number | undefined;
  for (let seen = 0; seen < MAX_TURNS; seen += PAGE) {
    const page = await store.turns.list(ref, { limit: PAGE, ...defined({ before: start }) });
    for (const { snapshot } of page) {
      const turn = restoreTurn(snapshot);
      if (turn.number < end) yield attachOutcomes(store, ref, turn, requestKinds);
    }
    start = page.at(-1)?.start;
    if (page.length < PAGE) return;
  }
}

async function find(
  attempt: TurnAttempt,
  { query = "", before = Infinity, limit = MOST_FOUND / 2 }: Input,
): Promise<ToolOutput> {
  const terms = queryTerms(query);
  const listed: { turn: number; at: string; text: string }[] = [];
  for await (const turn of earlier(attempt, before)) {
    const at = new Date(turn.started_at).toISOString();
    const text = turnToText(turn, SEARCH_CHARS, attempt.context.requestKinds);
    listed.push({ turn: turn.number, at, text });
    if (terms.length === 0 && listed.length >= limit) break;
  }
  // Without terms, the newest turns come first.
  const found = terms.length === 0 ? listed : rankByTerms(listed, query);
  const turns = found
    .slice(0, limit)
    .map(({ text, ...turn }) => ({ ...turn, text: snippetOf(terms, text, SNIPPET_CHARS) }));
  const content = { turns, found: found.length };
  return { content, preview: describeCount(turns.length), resultCount: turns.length };
}

function describeCount(count: number): string {
  return count === 1 ? "1 earlier turn" : `${count} earlier turns`;
}

async function read(attempt: TurnAttempt, wanted: number, offset: number): Promise<ToolOutput> {
  const { context, ref } = attempt;
  for await (const turn of earlier(attempt, wanted + 1)) {
    if (turn.number < wanted) break;
    const message = turn.message === null ? null : await loadWhole(context.store, ref, turn.message);
    const text = turnToText({ ...turn, message }, Infinity, context.requestKinds);
    const piece = truncateText(text.slice(offset), READ_CHARS);
    const next = offset + piece.length;
    return {
      content: { turn: wanted, text: piece, ...(next < text.length ? { next_offset: next } : {}) },
      preview: `Turn ${wanted}`,
    };
  }
  throw new ToolError("There is no such turn.", {
    modelMessage: `There is no turn ${wanted} before this one.`,
  });
}
