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
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { matches, scoreOf, snippetOf, queryTerms, weightTerms, tokenize } from "./search.ts";
import type { RequestKinds } from "../prompt/interaction-result.ts";
import { loadWhole, attachOutcomes } from "../prompt/prior-turns.ts";
import { type Tool, tool, ToolError, type ToolOutput } from "../define/tool.ts";
import { hostOf } from "../tool-calls/tool-host.ts";
import { turnToText } from "./turn-text.ts";
import { defined } from "../../util/defined.ts";

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
      const { ref, turn } = attempt;
      const { store, requestKinds: kinds } = attempt.context;
      return query.turn === undefined
        ? find(store, ref, turn.number, query, kinds)
        : read(store, ref, turn.number, query.turn, query.offset ?? 0, kinds);
    },
  });
}

/** Yields archived turns with a number below `before`, newest first. */
async function* earlier(
  store: Store,
  ref: SessionRef,
  before: number,
  kinds: RequestKinds,
): AsyncGenerator<Turn> {
  let start: number | undefined;
  for (let seen = 0; seen < MAX_TURNS; seen += PAGE) {
    const page = await store.turns.list(ref, {
      limit: PAGE,
      ...defined({ before: start }),
    });
    for (const { snapshot } of page) {
      const turn = restoreTurn(snapshot);
      if (turn.number < before) yield attachOutcomes(store, ref, turn, kinds);
    }
    start = page.at(-1)?.start;
    if (page.length < PAGE) return;
  }
}

async function find(
  store: Store,
  ref: SessionRef,
  now: number,
  query: Input,
  kinds: RequestKinds,
): Promise<ToolOutput> {
  const limit = query.limit ?? MOST_FOUND / 2;
  const terms = queryTerms(query.query ?? "");
  const found: { turn: Turn; text: string; tokens: readonly string[] }[] = [];
  for await (const turn of earlier(store, ref, Math.min(now, query.before ?? Infinity), kinds)) {
    const text = turnToText(turn, SEARCH_CHARS, kinds);
    const tokens = terms.length === 0 ? [] : tokenize(text);
    const isFound = terms.length === 0 || terms.some((term) => tokens.some((word) => matches(term, word)));
    if (isFound) found.push({ turn, text, tokens });
    if (terms.length === 0 && found.length >= limit) break;
  }
  const weighed = weightTerms(
    terms,
    terms.map((term) => found.filter(({ tokens }) => tokens.some((word) => matches(term, word))).length),
  );
  const ranked =
    terms.length === 0
      ? found
      : found
          .map((match) => ({
            ...match,
            score: scoreOf(weighed, query.query ?? "", { title: "", text: match.text }),
          }))
          .toSorted((a, b) => b.score - a.score || b.turn.number - a.turn.number);
  const turns = ranked.slice(0, limit).map(({ turn, text }) => ({
    turn: turn.number,
    at: new Date(turn.started_at).toISOString(),
    text: snippetOf(terms, text, SNIPPET_CHARS),
  }));
  return {
    content: { turns, found: found.length },
    preview: describeCount(turns.length),
    resultCount: turns.length,
  };
}

function describeCount(count: number): string {
  return count === 1 ? "1 earlier turn" : `${count} earlier turns`;
}

async function read(
  store: Store,
  ref: SessionRef,
  now: number,
  wanted: number,
  offset: number,
  kinds: RequestKinds,
): Promise<ToolOutput> {
  for await (const turn of earlier(store, ref, Math.min(now, wanted + 1), kinds)) {
    if (turn.number < wanted) break;
    const message = turn.message === null ? null : await loadWhole(store, ref, turn.message);
    const text = turnToText({ ...turn, message }, Infinity, kinds);
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
