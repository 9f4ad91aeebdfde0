/**
 * `QuestionCard` shows the questions of an agent with single choice, multiple choice or free text. Afterwards it shows
 * the answers.
 * Invariant: `useQuestionRequest` has the draft and sends the commands; the card only shows them. Texts of the agent
 * and the user pass `visibleText`.
 */
import { formatAnswer } from "@turnstream/client/view";
import type { Question } from "@turnstream/protocol";
import { type ReactNode, useId } from "react";
import type { BlockProps } from "../components.ts";
import { useUserName } from "../hooks/use-names.ts";
import { visibleText } from "../visible-text.ts";
import { Card, CardHead, CardProblem, Outcome } from "./card.tsx";
import { type QuestionRequest, useQuestionRequest } from "./use-question-request.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

export function QuestionCard({ turnId, blockIndex }: BlockProps): ReactNode {
  const view = useQuestionRequest(turnId, blockIndex);
  return view === null ? null : <QuestionContent view={view} />;
}

interface ViewProps {
  readonly view: QuestionRequest;
}

function QuestionContent({ view }: ViewProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const { block, isPending: isWaiting } = view;
  const id = useId();
  return (
    <Card kind="question" labelledBy={id} isPending={isWaiting}>
      <CardHead id={id} title={cardStrings.question} deadline={isWaiting ? block.deadline : null} />
      {isWaiting ? <Asked view={view} /> : <Answered view={view} />}
    </Card>
  );
}

function Asked({ view }: ViewProps): ReactNode {
  const cardStrings = useCardStrings().cards;
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
          <QuestionField key={question.id} view={view} question={question} />
        ))}
        <div className="ts-row">
          <button type="submit" className="ts-button ts-primary" disabled={isSending || !canAnswer}>
            {isSending ? cardStrings.sending : cardStrings.answer}
          </button>
          <Button disabled={isSending} onClick={() => view.dismiss()}>
            {cardStrings.skip}
          </Button>
        </div>
      </form>
      <CardProblem problem={problem} />
    </>
  );
}

function QuestionField({ view, question }: ViewProps & { readonly question: Question }): ReactNode {
  const cardStrings = useCardStrings().cards;
  const { options, multiple, free_text } = question;
  const { selected, text } = view.getDraft(question.id);
  const id = useId();
  return (
    <fieldset className="ts-asked" disabled={view.isSending}>
      <legend>
        <bdi>{visibleText(question.text)}</bdi>
        {multiple && <span className="ts-faint"> {cardStrings.chooseAny}</span>}
      </legend>
      {options.map((option) => (
        <label key={option.id} className="ts-option">
          <input
            type={multiple ? "checkbox" : "radio"}
            name={id}
            checked={selected.includes(option.id)}
            onChange={() => view.toggleOption(question, option.id)}
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
          aria-label={cardStrings.freeText}
          placeholder={cardStrings.freeText}
          value={text}
          maxLength={20_000}
          onChange={(event) => view.setText(question, event.target.value)}
        />
      )}
    </fieldset>
  );
}

function Answered({ view }: ViewProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const { questions, answers, status, by, message, reason } = view.block;
  const userName = useUserName(by);
  const outcome = {
    pending: "",
    answered: message === null ? cardStrings.answered(userName) : cardStrings.answeredByMessage,
    dismissed: cardStrings.dismissed(userName),
    timed_out: cardStrings.timedOut,
    cancelled: cardStrings.withdrawn,
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
              <bdi>{visibleText(formatAnswer(question, answers))}</bdi>
            </dd>
          </div>
        ))}
      </dl>
      <Outcome isPositive={status === "answered"} text={outcome} reason={reason} />
    </>
  );
}
