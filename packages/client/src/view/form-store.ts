/**
 * `createFormStore` holds a form while the user fills it in: its values, the problems to show, and its draft on the
 * server.
 * Invariant: an invalid form is never sent. A field shows its problem only after the user left it or tried to submit.
 * The first listener loads the draft, and changes are saved after 0.8 seconds. Both happen in the background, and their
 * failures are ignored. No draft is saved while a form is sent, or after it was sent.
 */
import type { FormBlock, FormProblem, Json } from "@turnstream/protocol";
import type { Session } from "../session/session.ts";
import {
  checkValues,
  EMPTY_FORM,
  type FormState,
  leaveField,
  markAllSeen,
  restoreDraft,
  setValue,
  toDraft,
  toValues,
} from "./form-values.ts";
import { createValueStore, type ReadableStore } from "./value-store.ts";

export interface FormView {
  readonly values: ReadonlyMap<string, Json>;
  /** The problems to show, by the name of the field. */
  readonly problems: ReadonlyMap<string, FormProblem>;
  /** The number of fields that prevent the submit, after the first attempt. */
  readonly problemCount: number;
  readonly isDraftSaved: boolean;
}

export interface FormStore extends ReadableStore<FormView> {
  readonly setValue: (field: string, value: Json) => void;
  /** Call it when the user leaves a field. From then on its problem is shown. */
  readonly leaveField: (field: string) => void;
  /** Saves the last change without a delay. Call it when the page is hidden. */
  readonly saveDraft: () => void;
  /** Shows all problems from now on. Returns whether there are none. */
  readonly check: () => boolean;
  /** Sends the form if `check` returns true. Rejects if the server refuses it, and the user can try again. */
  readonly submit: () => Promise<void>;
  readonly decline: (reason?: string) => Promise<void>;
}

type FormSession = Pick<Session, "loadFormDraft" | "saveFormDraft" | "submitForm" | "declineForm">;

const SAVE_DRAFT_AFTER_MS = 800;

export function createFormStore(
  session: FormSession,
  { form: id, schema }: Pick<FormBlock, "form" | "schema">,
): FormStore {
  let state = EMPTY_FORM;
  let saved = EMPTY_FORM.values;
  let wasChecked = false;
  let isLoaded = false;
  let isSent = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const read = (): FormView => {
    const problems = checkValues(state, schema);
    return {
      values: state.values,
      problems: new Map(problems.flatMap((one) => (state.seen.has(one.field) ? [[one.field, one]] : []))),
      problemCount: wasChecked ? problems.length : 0,
      isDraftSaved: state.touched.size > 0 && saved === state.values,
    };
  };
  const view = createValueStore(read());
  const set = (next: FormState): void => {
    state = next;
    view.set(read());
  };
  const load = async (): Promise<void> => {
    const draft = await session.loadFormDraft(id);
    if (draft !== null) set(restoreDraft(state, schema, draft));
  };
  const save = async (): Promise<void> => {
    const { values } = state;
    await session.saveFormDraft(id, toDraft(state, schema));
    saved = values;
    set(state);
  };
  const saveDraft = (): void => {
    clearTimeout(timer);
    if (timer !== undefined && !isSent) save().catch(() => {});
    timer = undefined;
  };
  const saveSoon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(saveDraft, SAVE_DRAFT_AFTER_MS);
  };
  const send = async (command: () => Promise<void>): Promise<void> => {
    isSent = true;
    try {
      await command();
    } catch (error) {
      isSent = false;
      if (state.touched.size > 0 && saved !== state.values) saveSoon();
      throw error;
    }
  };
  const store: FormStore = {
    get: view.get,
    subscribe(listener) {
      if (!isLoaded) load().catch(() => {});
      isLoaded = true;
      return view.subscribe(listener);
    },
    setValue(field, value) {
      set(setValue(state, field, value));
      saveSoon();
    },
    leaveField: (field) => set(leaveField(state, field)),
    saveDraft,
    check() {
      wasChecked = true;
      set(markAllSeen(state, schema));
      return view.get().problemCount === 0;
    },
    async submit() {
      if (store.check()) await send(() => session.submitForm(id, toValues(state, schema)));
    },
    decline: (reason = "") => send(() => session.declineForm(id, ...(reason === "" ? [] : [reason]))),
  };
  return store;
}
