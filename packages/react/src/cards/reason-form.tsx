/**
 * `ReasonForm` asks for an optional reason before a rejection.
 * Invariant: the reason is trimmed, can be empty and has at most 4,000 characters, below the limit of the protocol.
 * Escape cancels, except while an input method composes text.
 */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "../ui/button.tsx";

interface ReasonFormProps {
  readonly action: string;
  readonly isSending: boolean;
  readonly onSend: (reason: string) => void;
  readonly onCancel: () => void;
}

export function ReasonForm({ action, isSending, onSend, onCancel }: ReasonFormProps): ReactNode {
  const cardStrings = useCardStrings().cards;
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  // The user has just opened this form.
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      className="ts-reason"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(reason.trim());
      }}
      onKeyDown={(event) => {
        // During composition, Escape only cancels the text of the input method.
        if (event.key === "Escape" && !event.nativeEvent.isComposing) onCancel();
      }}
    >
      <label htmlFor={id}>{cardStrings.reason}</label>
      <input
        ref={field}
        id={id}
        className="ts-input"
        value={reason}
        maxLength={4_000}
        onChange={(event) => setReason(event.target.value)}
      />
      <div className="ts-row">
        <button type="submit" className="ts-button ts-danger" disabled={isSending}>
          {isSending ? cardStrings.sending : action}
        </button>
        <Button disabled={isSending} onClick={onCancel}>
          {cardStrings.cancel}
        </Button>
      </div>
    </form>
  );
}
