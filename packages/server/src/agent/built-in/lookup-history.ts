/**
 * `lookupHistoryTool` creates the tool `lookup_history`: it searches and reads earlier turns of its own session, for
 * conversations that no longer fit the prompt.
 *
 * Invariant: it only reads the session that it runs in, and only archived turns before the current one. One call reads
 * at most the newest 1,000 turns.
 */
import {
  type ApprovalBlock,
  type Block,
  listBlocks,
  mainRun,
  type QuestionBlock,
  restoreTurn,
  toolLabel,
  type Turn,
} from "@turnstream/protocol";
import { isRequest, truncateText } from "@turnstream/protocol/writer";
import { z } from "zod";
import { defined } from "../../util/defined.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import { type Tool, tool, ToolError, type ToolOutput } from "../define/tool.ts";
import { formatAnswers } from "../interactions/question.ts";
import type { RequestKinds } from "../prompt/interaction-result.ts";
import { attachOutcomes, loadWhole } from "../prompt/prior-turns.ts";
import { hostOf } from "../tool-calls/run-tool.ts";
import { queryTerms, rankByTerms, snippetOf } from "./search.ts";

const PAGE = 50;
/** How many turns one call searches. */
const MAX_TURNS = 1_000;
const MOST_FOUND = 20;
const SNIPPET_CHARS = 300;
const READ_CHARS = 10_000;
/** How much of each turn is searched. */
const SEARCH_CHARS = 10_000;

const lookupInput = z.object({
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

type Input = z.infer<typeof lookupInput>;

export function lookupHistoryTool(): Tool {
  return tool({
    description:
      "Looks up messages, submitted forms and decisions from earlier in this conversation: searches its turns by terms, lists them, or reads one by its number. Use it when the user refers to something that is no longer in your context.",
    label: "Looking through the conversation",
    input: lookupInput,
    idempotent: true,
    run: (query, context) => {
      const { attempt } = hostOf(context).scope;
      return query.turn === undefined ? find(attempt, query) : read(attempt, query.turn, query.offset ?? 0);
    },
  });
}

/** Yields archived turns with a number below that of the turn and below `before`, newest first. */
async function* earlier(attempt: TurnAttempt, before: number): AsyncGenerator<Turn> {
  const { context, ref } = attempt;
  const end = Math.min(attempt.turn.number, before);
  let start: number | undefined;
  for (let seen = 0; seen < MAX_TURNS; seen += PAGE) {
    const page = await context.store.turns.list(ref, { limit: PAGE, ...defined({ before: start }) });
    for (const { snapshot } of page) {
      const turn = restoreTurn(snapshot);
      if (turn.number < end) yield attachOutcomes(attempt, turn);
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
  for await (const turn of earlier(attempt, wanted + 1)) {
    if (turn.number < wanted) break;
    const message = turn.message === null ? null : await loadWhole(attempt, turn.message);
    const text = turnToText({ ...turn, message }, Infinity, attempt.context.requestKinds);
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

const RESULT_CHARS = 2_000;
const VALUE_CHARS = 2_000;

/**
 * Renders a turn as text: only what the user saw, so no thinking and no hidden results, but interactions of sub-agents
 * too. Reading continues at a character offset, so the same turn must give the same text.
 * @param turn the turn with the current state of its requests
 */
function turnToText(turn: Turn, maxChars: number, kinds: RequestKinds): string {
  const main = mainRun(turn)?.id;
  const request = turn.message === null ? [] : [`User: ${turn.message.text}`];
  // Interactions of sub-agents are included, because the user saw them too.
  const lines = listBlocks(turn).flatMap((block) => [
    ...(block.run === main ? lineOf(block) : []),
    ...interactionLines(block, kinds),
  ]);
  return truncateText([...request, ...lines].join("\n"), maxChars);
}

function lineOf(block: Block): string[] {
  switch (block.kind) {
    case "text":
      return block.text === "" ? [] : [`Agent: ${block.text}`];
    case "tool_result":
      return block.hidden ? [] : [`${toolLabel(block)}: ${truncateText(block.preview, RESULT_CHARS)}`];
    case "notice":
      return [`[${block.text}]`];
    default:
      return [];
  }
}

function interactionLines(block: Block, kinds: RequestKinds): readonly string[] {
  if (!("version" in block)) return [];
  if (isRequest(block)) return kinds.get(block.kind)?.describe(block) ?? [];
  return block.kind === "question" ? questionLines(block) : approvalLines(block);
}

function questionLines({ questions, answers, status, reason }: QuestionBlock): string[] {
  if (status !== "answered")
    return questions.map(({ text }) => `Question: ${text} (${status}${because(reason)})`);
  const answered = formatAnswers(questions, answers ?? []);
  const left = questions.filter(({ id }) => !(answers ?? []).some((answer) => answer.question === id));
  return [
    ...answered.flatMap(({ question, answer }) => [
      `Question: ${question}`,
      `User answered: ${truncateText(answer, VALUE_CHARS)}`,
    ]),
    ...left.map(({ text }) => `Question: ${text}`),
  ];
}

function approvalLines({ actions, edited, status, reason }: ApprovalBlock): string[] {
  const what = (edited ?? actions).map(
    ({ name, label = name, input }) => `${label} ${truncateText(JSON.stringify(input), VALUE_CHARS)}`,
  );
  return [`Approval of ${what.join(", ")}: ${status}${because(reason)}`];
}

function because(reason: string | null): string {
  return reason === null || reason === "" ? "" : `, because: ${reason}`;
}
