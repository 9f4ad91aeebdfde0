/**
 * `askQuestion` runs the tool `ask_user_question`: it shows a question outside of groups, waits inside the turn, and
 * returns the answers.
 *
 * Invariant: a call writes its question once, and a later attempt waits for the same one. The questions fit into one
 * event. The user answers with options or a plain message, dismisses the question, or lets its deadline pass. Without an
 * answer the call still succeeds.
 */
import type { QuestionAnswer, Json, Question, QuestionBlock } from "@turnstream/protocol";
import { truncateText, MAX_LABEL } from "@turnstream/protocol/writer";
import { z } from "zod";
import { toJsonSchema } from "../../models/tool-schema.ts";
import type { InteractionChange } from "../../store/interactions.ts";
import type { TurnAttempt } from "../../engine/attempt/attempt.ts";
import type { ToolCallRecord, StepCall } from "../run/journal-entries.ts";
import { closeOpenGroup } from "../run/close-open-group.ts";
import { ASK_USER } from "../define/agent.ts";
import { deadlineFields, readTimeoutSeconds, timeoutProperty } from "../define/answer-timeout.ts";
import { asJsonObject, stringField } from "../../util/json.ts";
import { failedResult, successResult } from "../run/tool-result.ts";
import type { RunContext, RuntimeTool } from "../run/run-context.ts";
import {
  awaitDecision,
  findPending,
  requestKey,
  writePending,
} from "../../engine/interactions/await-decision.ts";

const MAX_QUESTIONS = 20;
const MAX_OPTIONS = 50;
/** Size of all questions together, because they are part of one event. */
const MAX_BYTES = 48_000;
const MESSAGE_WAITS = "Their next message is queued and starts the next turn.";
const NOT_IN_TIME = "The user did not answer in time. Continue without an answer.";
const IN_ONE_MESSAGE = "The user answered all questions in one message: see the other answer.";

/** What the model reads. `questionsFrom` accepts more. */
const questionsInput = z.strictObject({
  questions: z
    .array(
      z.strictObject({
        question: z.string().describe("What to ask, in full."),
        options: z
          .array(z.union([z.string(), z.object({ label: z.string() })]))
          .max(MAX_OPTIONS)
          .optional()
          .describe("What can be chosen: texts, or objects with a label. None for an open question."),
        multiple: z.boolean().optional().describe("Whether several may be chosen."),
        free_text: z
          .boolean()
          .optional()
          .describe("False when only one of the options will do. True when absent."),
      }),
    )
    .min(1)
    .max(MAX_QUESTIONS),
  timeout_seconds: timeoutProperty,
});

export const askUserTool: RuntimeTool = {
  name: ASK_USER,
  description: "Asks the user something that you need to know to continue, and waits for the answer.",
  input: toJsonSchema(questionsInput, ASK_USER),
  phase: "question",
  isOffered: (agent) => agent.askUser,
  run: askQuestion,
};

async function askQuestion(scope: RunContext, call: StepCall): Promise<ToolCallRecord> {
  const { attempt } = scope;
  const questions = questionsFrom(call.input);
  if (questions === null)
    return failedResult("`questions` must be a list of at least one question with its text.");
  if (Buffer.byteLength(JSON.stringify(questions)) > MAX_BYTES)
    return failedResult(
      `The questions have more than ${MAX_BYTES} bytes. Ask fewer or shorter questions.`,
      "",
    );
  const timeout = readTimeoutSeconds(call.input);
  if (typeof timeout === "object" && timeout !== null) return failedResult(timeout.problem);
  const block = await writeRequest(scope, call, questions, timeout ?? scope.agent.answerTimeoutSeconds);
  const decided = await awaitDecision(attempt, block, { questions });
  const content =
    decided.status === "answered" ? answersOf(questions, decided) : await unanswered(attempt, decided);
  return { ...successResult({ content }, 0), preview: "" };
}

async function writeRequest(
  scope: RunContext,
  call: StepCall,
  questions: readonly Question[],
  timeoutSeconds: number | null,
): Promise<QuestionBlock> {
  const { attempt, run } = scope;
  const known = findPending(attempt, "question", call.call);
  if (known !== undefined) return known;
  await closeOpenGroup(scope);
  return writePending(attempt, "question", {
    type: "question.request",
    run,
    key: requestKey(attempt),
    call: call.call,
    questions: [...questions],
    ...deadlineFields(timeoutSeconds, attempt.context.env.now()),
  });
}

/** Parses the questions of the model and gives them ids. Returns null if they are invalid. */
function questionsFrom(input: Json): Question[] | null {
  const list = asJsonObject(input)["questions"];
  if (!Array.isArray(list) || list.length === 0) return null;
  const questions = (list as readonly Json[])
    .slice(0, MAX_QUESTIONS)
    .map((item, n) => questionFrom(item, `q${n + 1}`));
  return questions.every((question) => question !== null) ? questions : null;
}

function questionFrom(value: Json, id: string): Question | null {
  const text = stringField(value, "question");
  const { options = [], multiple = false, free_text = true } = asJsonObject(value);
  if (text === null || !Array.isArray(options)) return null;
  const labels = (options as readonly Json[]).flatMap((option) =>
    typeof option === "string" ? [option] : (stringField(option, "label") ?? []),
  );
  return {
    id,
    text,
    options: labels
      .slice(0, MAX_OPTIONS)
      .map((label, n) => ({ id: `o${n + 1}`, label: truncateText(label, MAX_LABEL) })),
    multiple: multiple === true,
    // Without options, free text is the only possible answer.
    free_text: free_text !== false || labels.length === 0,
  };
}

/** Adds a note if another message is queued, so that the model doesn't ask again. */
async function unanswered(
  { context, ref }: TurnAttempt,
  { status, reason }: InteractionChange,
): Promise<string> {
  if (status === "timed_out") return NOT_IN_TIME;
  const why = reason === null ? "" : ` Reason: ${reason}`;
  const next = (await context.store.queuedMessages.list(ref)).length > 0 ? ` ${MESSAGE_WAITS}` : "";
  return `The user did not answer.${why}${next}`;
}

/** Returns the answers as the model reads them. */
function answersOf(questions: readonly Question[], { body }: InteractionChange): Json {
  const { answers } = body as unknown as { readonly answers: readonly QuestionAnswer[] };
  const read = formatAnswers(questions, answers);
  const left = questions.filter(({ id }) => !answers.some((answer) => answer.question === id));
  return [...read, ...left.map(({ text }) => ({ question: text, answer: IN_ONE_MESSAGE }))];
}

/** Replaces the ids in a user's answers with the texts of the questions and options. An unknown id stays as it is. */
export function formatAnswers(
  questions: readonly Question[],
  answers: readonly QuestionAnswer[],
): { readonly question: string; readonly answer: string }[] {
  return answers.map(({ question: id, selected, text = "" }) => {
    const question = questions.find((candidate) => candidate.id === id);
    const chosen = selected.map(
      (option) => question?.options.find((candidate) => candidate.id === option)?.label ?? option,
    );
    return { question: question?.text ?? id, answer: [...chosen, ...(text === "" ? [] : [text])].join("; ") };
  });
}
