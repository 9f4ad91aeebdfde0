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
  type FormBlock,
  formatMoney,
  type Json,
  toolLabel,
  mainRun,
  type QuestionBlock,
  type Turn,
} from "@turnstream/protocol";
import { truncateText } from "@turnstream/protocol/writer";
import { formatFormValues, type PaymentOutcome } from "../prompt/interaction-result.ts";
import { formatAnswers } from "../interactions/format-answers.ts";
import { stringifyContent } from "../attempt/tool-result.ts";

const RESULT_CHARS = 2_000;
const VALUE_CHARS = 2_000;

/** @param turn the turn with the current state of its forms and payments */
export function turnToText(turn: Turn, maxChars: number): string {
  const main = mainRun(turn)?.id;
  const request = turn.message === null ? [] : [`User: ${turn.message.text}`];
  // Interactions of sub-agents are included, because the user saw them too.
  const lines = listBlocks(turn).flatMap((block) => [
    ...(block.run === main ? lineOf(block) : []),
    ...interactionLines(block),
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

function interactionLines(block: Block): string[] {
  switch (block.kind) {
    case "form":
      return formLines(block);
    case "payment":
      return paymentLines(block);
    case "question":
      return questionLines(block);
    case "approval":
      return approvalLines(block);
    default:
      return [];
  }
}

function formLines({ schema, status, values, reason }: FormBlock): string[] {
  const filled = status === "submitted" ? formatFormValues(schema.fields, values ?? {}) : [];
  return [
    `Form "${schema.title}": ${status}${because(reason)}`,
    ...filled.map(({ label, value }) => `User filled in ${label}: ${formatValue(value)}`),
  ];
}

function paymentLines({
  description,
  order_no,
  amount,
  currency,
  status,
  refunded = 0,
}: PaymentOutcome): string[] {
  const back = refunded > 0 ? `, refunded ${formatMoney("en", refunded, currency)}` : "";
  const sum = formatMoney("en", amount, currency);
  return [`Payment "${description}" of ${sum} (order ${order_no}): ${status}${back}`];
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

function formatValue(value: Json): string {
  const text = Array.isArray(value)
    ? (value as readonly Json[]).map(stringifyContent).join("; ")
    : stringifyContent(value);
  return truncateText(text, VALUE_CHARS);
}
