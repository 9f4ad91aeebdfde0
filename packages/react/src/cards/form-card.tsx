/** A form to fill in, from the server's own schema; then what was filled in, or why not. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useShared } from "../context.ts";
import { usePersonName } from "../hooks/use-names.ts";
import { visibleText } from "../visible-text.ts";
import { Card, CardHead, CardProblem, Outcome } from "./card.tsx";
import { Field } from "./form-field.tsx";
import { valueText } from "./form-values.ts";
import { ReasonForm } from "./reason-form.tsx";
import { type FormView, useForm } from "./use-form-request.ts";

export function FormCard({ turn, index }: BlockProps): ReactNode {
  const view = useForm(turn, index);
  return view === null ? null : <Shown view={view} />;
}

interface ViewProps {
  readonly view: FormView;
}

function Shown({ view }: ViewProps): ReactNode {
  const { block, isPending: isWaiting } = view;
  const { title, description = "" } = block.schema;
  const id = useId();
  return (
    <Card kind="form" labelledBy={id} isWaiting={isWaiting}>
      <CardHead id={id} title={title} deadline={isWaiting ? block.deadline : null} />
      {description !== "" && <p className="ts-card-text">{visibleText(description)}</p>}
      {isWaiting ? <Filling view={view} /> : <Filled view={view} />}
    </Card>
  );
}

function Filling({ view }: ViewProps): ReactNode {
  const words = useShared().strings.cards;
  const { block, isSending, problem, problemCount, isDraftSaved } = view;
  const [isDeclining, setDeclining] = useState(false);
  const [refusals, setRefusals] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  // To the first field that is wrong, as soon as it says so: who types on at once is there already.
  useEffect(() => {
    if (refusals > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [refusals]);
  if (isDeclining) {
    return (
      <>
        <ReasonForm
          action={words.decline}
          isSending={isSending}
          onSend={view.decline}
          onCancel={() => setDeclining(false)}
        />
        <CardProblem problem={problem} />
      </>
    );
  }
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!view.submit()) setRefusals(refusals + 1);
      }}
    >
      <div className="ts-fields">
        {block.schema.fields.map((field) => (
          <Field key={field.name} field={field} view={view} />
        ))}
      </div>
      <div className="ts-row">
        <button type="submit" className="ts-button ts-primary" disabled={isSending}>
          {isSending ? words.sending : words.submit}
        </button>
        <button type="button" className="ts-button" disabled={isSending} onClick={() => setDeclining(true)}>
          {words.decline}
        </button>
        <span className="ts-faint ts-small">{isDraftSaved ? words.draftSaved : ""}</span>
      </div>
      <CardProblem problem={problem ?? (problemCount > 0 ? words.mendFields(problemCount) : null)} />
    </form>
  );
}

function Filled({ view }: ViewProps): ReactNode {
  const { strings } = useShared();
  const words = strings.cards;
  const { schema, values, status, by, reason } = view.block;
  const who = usePersonName(by);
  const outcome = {
    pending: "",
    submitted: words.submitted(who),
    declined: words.declined(who),
    cancelled: words.withdrawn,
    expired: words.expired,
  }[status];
  return (
    <>
      {values !== null && (
        <dl className="ts-summary">
          {schema.fields.map((field) => (
            <div key={field.name}>
              <dt>
                <bdi>{visibleText(field.label)}</bdi>
              </dt>
              <dd>
                <bdi>
                  {visibleText(
                    valueText(
                      field,
                      Object.hasOwn(values, field.name) ? (values[field.name] ?? null) : null,
                      strings,
                    ),
                  ) || words.none}
                </bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <Outcome isGood={status === "submitted"} words={outcome} reason={reason} />
    </>
  );
}
