/**
 * `FormCard` shows a form from the schema of the server. Afterwards it shows the submitted values or the reason why it
 * was declined.
 * Invariant: `useFormRequest` validates, not the browser (`noValidate`). A rejected submit moves the focus to the first
 * invalid field, so that the user can type at once. All texts of the schema pass `visibleText`.
 */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useUserName } from "../hooks/use-names.ts";
import { Icon } from "../ui/icons.tsx";
import { visibleText } from "../visible-text.ts";
import { Card, CardHead, CardProblem, Outcome, ReasonForm } from "./card.tsx";
import { Field, formatProblem } from "./form-field.tsx";
import { formatValue } from "./format-argument.ts";
import { type FormRequest, useFormRequest } from "./use-form-request.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

export function FormCard({ turnId, blockIndex }: BlockProps): ReactNode {
  const view = useFormRequest(turnId, blockIndex);
  return view === null ? null : <FormContent view={view} />;
}

interface ViewProps {
  readonly view: FormRequest;
}

function FormContent({ view }: ViewProps): ReactNode {
  const { block, isPending: isWaiting } = view;
  const { title, description = "" } = block.schema;
  const id = useId();
  return (
    <Card kind="form" labelledBy={id} isPending={isWaiting}>
      <CardHead id={id} title={title} deadline={isWaiting ? block.deadline : null} />
      {description !== "" && <p className="ts-card-text">{visibleText(description)}</p>}
      {isWaiting ? <PendingForm view={view} /> : <ClosedForm view={view} />}
    </Card>
  );
}

function PendingForm({ view }: ViewProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const { block, isSending, problem, problemCount, isDraftSaved } = view;
  const [isDeclining, setDeclining] = useState(false);
  const [refusals, setRefusals] = useState(0);
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  // Focuses the first invalid field after a failed submit. The list above stays visible if there is space for both.
  useEffect(() => {
    if (refusals === 0) return;
    const field = form.current?.querySelector<HTMLElement>("[aria-invalid=true]");
    field?.focus({ preventScroll: true });
    form.current?.querySelector(".ts-problems")?.scrollIntoView({ block: "nearest" });
    field?.scrollIntoView({ block: "nearest" });
  }, [refusals]);
  if (isDeclining) {
    return (
      <>
        <ReasonForm
          action={cardStrings.decline}
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
      {problemCount > 0 && <Problems key={refusals} view={view} id={id} />}
      <div className="ts-fields">
        {block.schema.fields.map((field, n) => (
          <Field key={field.name} id={`${id}${n}`} field={field} view={view} />
        ))}
      </div>
      <div className="ts-row">
        <button type="submit" className="ts-button ts-primary" disabled={isSending}>
          {isSending ? cardStrings.sending : cardStrings.submit}
        </button>
        <Button disabled={isSending} onClick={() => setDeclining(true)}>
          {cardStrings.decline}
        </Button>
        <span className="ts-faint ts-small">{isDraftSaved ? cardStrings.draftSaved : ""}</span>
      </div>
      <CardProblem problem={problem ?? (problemCount === 1 ? cardStrings.fixFields(1) : null)} />
    </form>
  );
}

/**
 * The problems of a form that can't be sent, each with a link to its field. A corrected one stays until the next submit,
 * because the fields below would move while the user types. One problem needs no list.
 */
function Problems({ view, id }: ViewProps & { readonly id: string }): ReactNode {
  const strings = useCardStrings();
  const { fields } = view.block.schema;
  const [listed] = useState(() => fields.filter((field) => view.getProblem(field) !== null));
  if (listed.length < 2) return null;
  return (
    <div className="ts-problems">
      <p className="ts-problems-title" role="alert">
        {strings.cards.fixFields(view.problemCount)}
      </p>
      <ul>
        {listed.map((field) => {
          const problem = view.getProblem(field);
          const target = `${id}${fields.indexOf(field)}`;
          return (
            <li key={field.name} data-done={problem === null || undefined}>
              <a
                className="ts-problem-link"
                href={`#${target}`}
                onClick={(event) => {
                  // The address of the page can belong to a router.
                  event.preventDefault();
                  focusField(target);
                }}
              >
                <bdi>{visibleText(field.label)}</bdi>
              </a>
              {problem === null ? <Icon name="check" /> : `: ${formatProblem(problem, field, strings)}`}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Focuses the input of a field, or the first of several. */
function focusField(id: string): void {
  const field = document.getElementById(id) ?? document.getElementById(`${id}l`)?.parentElement;
  const input = field?.matches("input, textarea, select, button")
    ? field
    : field?.querySelector<HTMLElement>("input, textarea, select, button");
  input?.focus();
}

function ClosedForm({ view }: ViewProps): ReactNode {
  const strings = useCardStrings();
  const cardStrings = strings.cards;
  const { schema, values, status, by, reason } = view.block;
  const userName = useUserName(by);
  const outcome = {
    pending: "",
    submitted: cardStrings.submitted(userName),
    declined: cardStrings.declined(userName),
    cancelled: cardStrings.withdrawn,
    expired: cardStrings.expired,
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
                    formatValue(
                      field,
                      Object.hasOwn(values, field.name) ? (values[field.name] ?? null) : null,
                      strings,
                    ),
                  ) || cardStrings.none}
                </bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <Outcome isPositive={status === "submitted"} text={outcome} reason={reason} />
    </>
  );
}
