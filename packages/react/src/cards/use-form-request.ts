/**
 * `useFormRequest` returns a form and its actions, without any UI: values, problems, a draft that survives a reload,
 * submit and decline.
 * Invariant: the form keeps its values for as long as it waits, also after a new snapshot. For the rules of problems and
 * drafts, see `createFormStore`.
 */
import { createFormStore, type FormView } from "@turnstream/client/view";
import { type FormBlock, type FormField, type FormProblem, isPending, type Json } from "@turnstream/protocol";
import { useEffect, useMemo } from "react";
import { useThreadContext } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { type ActionState, useCardAction, useReadableStore } from "./use-card-action.ts";

export interface FormRequest extends ActionState {
  readonly block: FormBlock;
  readonly isPending: boolean;
  readonly getValue: (field: FormField) => Json;
  readonly setValue: (field: FormField, value: Json) => void;
  /** Call it when the user leaves a field. From then on its problem is shown. */
  readonly leaveField: (field: FormField) => void;
  /** Returns the problem of a field once it should be shown. */
  readonly getProblem: (field: FormField) => FormProblem | null;
  /** The number of fields that prevent the submit, after the first attempt. */
  readonly problemCount: number;
  readonly isDraftSaved: boolean;
  /** Submits the form if it is valid. Returns whether it was valid. */
  readonly submit: () => boolean;
  readonly decline: (reason?: string) => void;
}

const CLOSED: FormView = { values: new Map(), problems: new Map(), problemCount: 0, isDraftSaved: false };

export function useFormRequest(turnId: string, blockIndex: number): FormRequest | null {
  const { session } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "form");
  const { run, isSending, problem } = useCardAction();
  const isWaiting = block !== null && isPending(block);
  const formId = isWaiting ? block.form : null;
  // A new snapshot has other objects for the same form.
  const store = useMemo(() => (isWaiting ? createFormStore(session, block) : null), [session, formId]);
  const { values, problems, problemCount, isDraftSaved } = useReadableStore(store, CLOSED);
  useEffect(() => {
    const onHide = (): void => {
      if (document.visibilityState === "hidden") store?.saveDraft();
    };
    document.addEventListener("visibilitychange", onHide);
    return () => {
      document.removeEventListener("visibilitychange", onHide);
    };
  }, [store]);
  if (block === null) return null;
  return {
    block,
    isPending: isWaiting,
    isSending,
    problem,
    getValue: ({ name }) => values.get(name) ?? null,
    setValue: ({ name }, value) => store?.setValue(name, value),
    leaveField: ({ name }) => store?.leaveField(name),
    getProblem: ({ name }) => problems.get(name) ?? null,
    problemCount,
    isDraftSaved,
    submit: () => {
      const isValid = store?.check() ?? false;
      if (isValid) run(async () => await store?.submit());
      return isValid;
    },
    decline: (reason) => run(async () => await store?.decline(reason)),
  };
}
