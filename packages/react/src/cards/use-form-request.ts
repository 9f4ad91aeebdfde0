/**
 * `useFormRequest` returns a form and its actions, without any UI: values, problems, a draft that survives a reload,
 * submit and decline.
 * Invariant: an invalid form is never sent. A field shows its problem only after the user left it or tried to submit.
 * Drafts are saved in the background, and their failures are ignored.
 */
import { type FormBlock, type FormField, type FormProblem, isPending, type Json } from "@turnstream/protocol";
import { useEffect, useRef, useState } from "react";
import { useThreadContext } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import {
  toDraft,
  type FormState,
  leaveField,
  checkValues,
  restoreDraft,
  markAllSeen,
  setValue,
  EMPTY_FORM,
  toValues,
} from "./form-values.ts";
import { type ActionState, useCardAction } from "./use-card-action.ts";

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

const SAVE_DRAFT_AFTER_MS = 800;

export function useFormRequest(turnId: string, blockIndex: number): FormRequest | null {
  const { session } = useThreadContext();
  const block = useBlock(turnId, blockIndex, "form");
  const { run, isSending, problem } = useCardAction();
  const [state, setState] = useState(EMPTY_FORM);
  const [wasSubmitted, setSubmitted] = useState(false);
  const isWaiting = block !== null && isPending(block);
  const isDraftSaved = useDraft(block, isWaiting, state, setState);
  if (block === null) return null;
  const { schema, form: formId } = block;
  const problems = checkValues(state, schema);
  return {
    block,
    isPending: isWaiting,
    isSending,
    problem,
    getValue: ({ name }) => state.values.get(name) ?? null,
    setValue: ({ name }, value) => setState((current) => setValue(current, name, value)),
    leaveField: ({ name }) => setState((current) => leaveField(current, name)),
    getProblem: ({ name }) =>
      state.seen.has(name) ? (problems.find(({ field }) => field === name) ?? null) : null,
    problemCount: wasSubmitted ? problems.length : 0,
    isDraftSaved,
    submit: () => {
      setSubmitted(true);
      setState(markAllSeen(state, schema));
      if (problems.length === 0) run(() => session.submitForm(formId, toValues(state, schema)));
      return problems.length === 0;
    },
    decline: (reason = "") => run(() => session.declineForm(formId, ...(reason === "" ? [] : [reason]))),
  };
}

/** Loads the saved draft, and saves changes after a delay. It runs in the background, and its failures are ignored. */
function useDraft(
  block: FormBlock | null,
  isWaiting: boolean,
  state: FormState,
  setState: (change: (current: FormState) => FormState) => void,
): boolean {
  const { session } = useThreadContext();
  const [saved, setSaved] = useState(EMPTY_FORM.values);
  const unsaved = useRef<(() => void) | null>(null);
  const formId = isWaiting && block !== null ? block.form : null;
  const schema = block?.schema;
  useEffect(() => {
    if (formId === null || schema === undefined) return undefined;
    let isMounted = true;
    session.loadFormDraft(formId).then(
      (draft) => isMounted && draft !== null && setState((current) => restoreDraft(current, schema, draft)),
      () => {},
    );
    return () => {
      isMounted = false;
    };
  }, [session, formId, schema, setState]);
  useEffect(() => {
    if (formId === null || schema === undefined || state.touched.size === 0) return undefined;
    const save = (): void => {
      unsaved.current = null;
      session.saveFormDraft(formId, toDraft(state, schema)).then(
        () => setSaved(state.values),
        () => {},
      );
    };
    unsaved.current = save;
    const timer = setTimeout(save, SAVE_DRAFT_AFTER_MS);
    return () => clearTimeout(timer);
  }, [session, formId, schema, state]);
  useEffect(() => {
    // Saves pending changes when the page is hidden, so that they are not lost.
    const onHide = (): void => {
      if (document.visibilityState === "hidden") unsaved.current?.();
    };
    document.addEventListener("visibilitychange", onHide);
    return () => {
      document.removeEventListener("visibilitychange", onHide);
    };
  }, []);
  return state.touched.size > 0 && saved === state.values;
}
