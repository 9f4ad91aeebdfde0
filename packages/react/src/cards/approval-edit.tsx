/**
 * `ApprovalEdit` edits the arguments of a call: plain values field by field, everything else as JSON.
 * Invariant: an edit is sent only if every field is valid, and arguments stay an object. It edits the first action
 * only, because `canEdit` requires exactly one.
 */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useThreadContext } from "../context.ts";
import { useArgumentName } from "../hooks/use-names.ts";
import { type EditField, toInput, toEditFields, findFieldProblem, parseObject } from "./edit-arguments.ts";
import type { ApprovalRequest } from "./use-approval-request.ts";

interface ApprovalEditProps {
  readonly approval: ApprovalRequest;
  readonly onCancel: () => void;
}

export function ApprovalEdit({ approval, onCancel }: ApprovalEditProps): ReactNode {
  const cardStrings = useThreadContext().strings.cards;
  const { actions, isSending, edit } = approval;
  const input = actions[0]?.input ?? {};
  const [fields, setFields] = useState(() => toEditFields(input));
  const [json, setJson] = useState(() => JSON.stringify(input, null, 2));
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  useEffect(() => form.current?.querySelector<HTMLElement>("input, textarea")?.focus(), []);
  const isGood =
    fields === null ? parseObject(json) !== null : fields.every((field) => findFieldProblem(field) === null);
  return (
    <form
      ref={form}
      className="ts-edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (isGood) edit(fields === null ? parseObject(json) : toInput(fields));
      }}
      onKeyDown={(event) => {
        // During composition, Escape only cancels the text of the input method.
        if (event.key === "Escape" && !event.nativeEvent.isComposing) onCancel();
      }}
    >
      {fields === null ? (
        <div className="ts-field">
          <label htmlFor={id}>{cardStrings.asJson}</label>
          <textarea
            id={id}
            className="ts-input ts-mono"
            rows={Math.min(16, json.split("\n").length + 1)}
            value={json}
            aria-invalid={!isGood}
            aria-describedby={`${id}p`}
            spellCheck={false}
            onChange={(event) => setJson(event.target.value)}
          />
          <p className="ts-field-problem" id={`${id}p`}>
            {isGood ? "" : cardStrings.notJson}
          </p>
        </div>
      ) : (
        fields.map((field, n) => (
          <ArgumentField
            key={field.name}
            field={field}
            onText={(text) => setFields(fields.with(n, { ...field, text }))}
          />
        ))
      )}
      <div className="ts-row">
        <button type="submit" className="ts-button ts-primary" disabled={isSending || !isGood}>
          {isSending ? cardStrings.sending : cardStrings.approveEdited}
        </button>
        <button type="button" className="ts-button" disabled={isSending} onClick={onCancel}>
          {cardStrings.cancel}
        </button>
      </div>
    </form>
  );
}

interface ArgumentFieldProps {
  readonly field: EditField;
  readonly onText: (text: string) => void;
}

function ArgumentField({ field, onText }: ArgumentFieldProps): ReactNode {
  const cardStrings = useThreadContext().strings.cards;
  const argumentName = useArgumentName();
  const { name, type, text } = field;
  const id = useId();
  const problem = findFieldProblem(field);
  const common = { id, "aria-invalid": problem !== null, "aria-describedby": `${id}p` };
  return (
    <div className="ts-field">
      <label htmlFor={id}>{argumentName(name)}</label>
      {type === "boolean" ? (
        <input
          {...common}
          type="checkbox"
          checked={text === "true"}
          onChange={(event) => onText(String(event.target.checked))}
        />
      ) : type === "json" || text.includes("\n") ? (
        <textarea
          {...common}
          className="ts-input ts-mono"
          rows={Math.min(10, text.split("\n").length + 1)}
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      ) : (
        <input
          {...common}
          className="ts-input"
          inputMode={type === "number" ? "decimal" : "text"}
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      )}
      <p className="ts-field-problem" id={`${id}p`}>
        {problem === null ? "" : problem === "not_json" ? cardStrings.notJson : cardStrings.notNumber}
      </p>
    </div>
  );
}
