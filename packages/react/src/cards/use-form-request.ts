/** A form without its looks: values, problems, a draft that outlives a reload, and how to submit or decline. */
import { type FormBlock, type FormField, type FormProblem, isPending, type Json } from "@turnstream/protocol";
import { useEffect, useRef, useState } from "react";
import { useShared } from "../context.ts";
import { useBlock } from "../hooks/use-turn.ts";
import {
  draftOf,
  type Filling,
  leaveField,
  problemsOf,
  restoreDraft,
  seeAll,
  setValue,
  UNTOUCHED,
  valuesOf,
} from "./form-values.ts";
import { type CommandState, useCardCommand } from "./use-card-action.ts";

export interface FormView extends CommandState {
  readonly block: FormBlock;
  readonly isPending: boolean;
  readonly valueOf: (field: FormField) => Json;
  readonly set: (field: FormField, value: Json) => void;
  /** The person has left the field: from now on it is told what is wrong with it. */
  readonly leave: (field: FormField) => void;
  /** What is wrong with a field, once it should be said. */
  readonly problemOf: (field: FormField) => FormProblem | null;
  /** How many fields keep it from being submitted, once that was tried. */
  readonly problemCount: number;
  readonly isDraftSaved: boolean;
  /** Sends it, if it can be sent; tells whether. */
  readonly submit: () => boolean;
  readonly decline: (reason?: string) => void;
}

const SAVE_AFTER_MS = 800;

export function useForm(turn: string, index: number): FormView | null {
  const { session } = useShared();
  const block = useBlock(turn, index, "form");
  const { run, isSending, problem } = useCardCommand();
  const [filling, setFilling] = useState(UNTOUCHED);
  const [wasTried, setTried] = useState(false);
  const isWaiting = block !== null && isPending(block);
  const isDraftSaved = useDraft(block, isWaiting, filling, setFilling);
  if (block === null) return null;
  const { schema, form } = block;
  const problems = problemsOf(filling, schema);
  return {
    block,
    isPending: isWaiting,
    isSending,
    problem,
    valueOf: ({ name }) => filling.values.get(name) ?? null,
    set: ({ name }, value) => setFilling((now) => setValue(now, name, value)),
    leave: ({ name }) => setFilling((now) => leaveField(now, name)),
    problemOf: ({ name }) =>
      filling.seen.has(name) ? (problems.find(({ field }) => field === name) ?? null) : null,
    problemCount: wasTried ? problems.length : 0,
    isDraftSaved,
    submit: () => {
      setTried(true);
      setFilling(seeAll(filling, schema));
      if (problems.length === 0) run(() => session.submitForm(form, valuesOf(filling, schema)));
      return problems.length === 0;
    },
    decline: (reason = "") => run(() => session.declineForm(form, ...(reason === "" ? [] : [reason]))),
  };
}

/** Loads what was saved before, and saves what is typed, a moment after. Nobody waits for it, and its failure is silent. */
function useDraft(
  block: FormBlock | null,
  isWaiting: boolean,
  filling: Filling,
  setFilling: (change: (now: Filling) => Filling) => void,
): boolean {
  const { session } = useShared();
  const [saved, setSaved] = useState(UNTOUCHED.values);
  const unsaved = useRef<(() => void) | null>(null);
  const form = isWaiting && block !== null ? block.form : null;
  const schema = block?.schema;
  useEffect(() => {
    if (form === null || schema === undefined) return undefined;
    let isHere = true;
    session.loadFormDraft(form).then(
      (draft) => isHere && draft !== null && setFilling((now) => restoreDraft(now, schema, draft)),
      () => {},
    );
    return () => {
      isHere = false;
    };
  }, [session, form, schema, setFilling]);
  useEffect(() => {
    if (form === null || schema === undefined || filling.touched.size === 0) return undefined;
    const save = (): void => {
      unsaved.current = null;
      session.saveFormDraft(form, draftOf(filling, schema)).then(
        () => setSaved(filling.values),
        () => {},
      );
    };
    unsaved.current = save;
    const timer = setTimeout(save, SAVE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [session, form, schema, filling]);
  useEffect(() => {
    // Whoever leaves the page in the middle of a word finds it again.
    const onHide = (): void => {
      if (document.visibilityState === "hidden") unsaved.current?.();
    };
    document.addEventListener("visibilitychange", onHide);
    return () => {
      document.removeEventListener("visibilitychange", onHide);
    };
  }, []);
  return filling.touched.size > 0 && saved === filling.values;
}
