/** What the agent asks: choices, several choices, own words, or several questions at once. Then what was answered. */
import type { Question } from "@turnstream/protocol";
import { type ReactNode, useId } from "react";
import type { BlockProps } from "../components.ts";
import { useShared } from "../context.ts";
import { usePersonName } from "../hooks/use-names.ts";
import { visibleText } from "../visible-text.ts";
import { Card, CardHead, CardProblem, Outcome } from "./card.tsx";
import { type QuestionView, useQuestion } from "./use-question-request.ts";

export function QuestionCard({ turn, index }: BlockProps): ReactNode {
  const view = useQuestion(turn, index);
  return view === null ? null : <Shown view={view} />;
}

interface ViewProps {
  readonly view: QuestionView;
}

function Shown({ view }: ViewProps): ReactNode {
  const words = useShared().strings.cards;
  const { block, isPending: isWaiting } = view;
  const id = useId();
  return (
    <Card kind="question" labelledBy={id} isWaiting={isWaiting}>
      <CardHead id={id} title={words.question} deadline={isWaiting ? block.deadline : null} />
      {isWaiting ? <Asked view={view} /> : <Answered view={view} />}
    </Card>
  );
}

function Asked({ view }: ViewProps): ReactNode {
  const words = useShared().strings.cards;
  const { block, isSending, canAnswer, problem } = view;
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          view.answer();
        }}
      >
        {block.questions.map((question) => (
          <OneQuestion key={question.id} view={view} question={question} />
        ))}
        <div className="ts-row">
          <button type="submit" className="ts-button ts-primary" disabled={isSending || !canAnswer}>
            {isSending ? words.sending : words.answer}
          </button>
          <button type="button" className="ts-button" disabled={isSending} onClick={() => view.dismiss()}>
            {words.skip}
          </button>
        </div>
      </form>
      <CardProblem problem={problem} />
    </>
  );
}

function OneQuestion({ view, question }: ViewProps & { readonly question: Question }): ReactNode {
  const words = useShared().strings.cards;
  const { options, multiple, free_text } = question;
  const { selected, text } = view.draftOf(question.id);
  const id = useId();
  return (
    <fieldset className="ts-asked" disabled={view.isSending}>
      <legend>
        <bdi>{visibleText(question.text)}</bdi>
        {multiple && <span className="ts-faint"> {words.chooseAny}</span>}
      </legend>
      {options.map((option) => (
        <label key={option.id} className="ts-option">
          <input
            type={multiple ? "checkbox" : "radio"}
            name={id}
            checked={selected.includes(option.id)}
            onChange={() => view.choose(question, option.id)}
          />
          <span>
            <bdi>{visibleText(option.label)}</bdi>
            {option.description !== undefined && (
              <bdi className="ts-option-note">{visibleText(option.description)}</bdi>
            )}
          </span>
        </label>
      ))}
      {free_text && (
        <textarea
          className="ts-input"
          rows={options.length === 0 ? 3 : 1}
          aria-label={words.ownWords}
          placeholder={words.ownWords}
          value={text}
          maxLength={20_000}
          onChange={(event) => view.write(question, event.target.value)}
        />
      )}
    </fieldset>
  );
}

function Answered({ view }: ViewProps): ReactNode {
  const words = useShared().strings.cards;
  const { questions, answers, status, by, message, reason } = view.block;
  const who = usePersonName(by);
  const outcome = {
    pending: "",
    answered: message === null ? words.answered(who) : words.answeredByMessage,
    dismissed: words.dismissed(who),
    timed_out: words.timedOut,
    cancelled: words.withdrawn,
  }[status];
  return (
    <>
      <dl className="ts-summary">
        {questions.map((question) => (
          <div key={question.id}>
            <dt>
              <bdi>{visibleText(question.text)}</bdi>
            </dt>
            <dd>
              <bdi>{visibleText(answerText(question, answers))}</bdi>
            </dd>
          </div>
        ))}
      </dl>
      <Outcome isGood={status === "answered"} words={outcome} reason={reason} />
    </>
  );
}

function answerText({ id, options }: Question, answers: QuestionView["block"]["answers"]): string {
  const answer = answers?.find(({ question }) => question === id);
  const chosen = (answer?.selected ?? []).map(
    (one) => options.find((option) => option.id === one)?.label ?? one,
  );
  return [...chosen, ...(answer?.text === undefined ? [] : [answer.text])].join(", ");
}
