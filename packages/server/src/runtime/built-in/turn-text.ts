/**
 * `turnToText` renders a turn as text for search and reading: message, answers, tool results and interactions in order.
 * Pure.
 *
 * Invariant: it contains only what the user saw: no thinking, no hidden results, and interactions of sub-agents too.
 * `lookup_history` continues at a character offset, so the same turn must give the same text.
 */
import {
  type ApprovalBlock,
  type Block,
  listBlocks,
  toolLabel,
  mainRun,
  type QuestionBlock,
  type Turn,
} from "@turnstream/protocol";
import { isRequest, truncateText } from "@turnstream/protocol/writer";
import type { RequestKinds } from "../prompt/interaction-result.ts";
import { formatAnswers } from "../interactions/question.ts";

const RESULT_CHARS = 2_000;
const VALUE_CHARS = 2_000;

/** @param turn the turn with the current state of its requests */
export function turnToText(turn: Turn, maxChars: number, kinds: RequestKinds): string {
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
