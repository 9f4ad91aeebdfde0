/** What a person has filled in so far of a form that waits: kept on the server, so that any device can go on with it. */
import { checkPartialForm, type Json } from "@turnstream/protocol";
import { StoreError } from "../../store/errors.ts";
import type { FormDraft } from "../../store/ports/interactions.ts";
import type { SessionRef } from "../../store/refs.ts";
import { findInteraction } from "./find.ts";
import { FormError, storedForm } from "./submit-form.ts";
import type { Backend } from "../backend.ts";

/**
 * The last one counts. What is there has to fit its field, and nothing has to be there. Throws NOT_FOUND, FormError
 * (INVALID), TOO_LARGE beyond 64 kB, and CONFLICT once the form is decided.
 */
export async function saveFormDraft(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  { form, values }: { readonly form: string; readonly values: Json },
): Promise<FormDraft> {
  const interaction = await findInteraction(store, ref, form, "form");
  const problems = checkPartialForm(storedForm(interaction).schema, values);
  if (problems.length > 0) throw new FormError(form, problems);
  const draft = await store.formDrafts.save(ref, interaction.id, values);
  if (draft === null) throw new StoreError("CONFLICT", `form ${form}`);
  return draft;
}

/** Null when there is none (any more). Throws NOT_FOUND. */
export async function readFormDraft(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  form: string,
): Promise<FormDraft | null> {
  return store.formDrafts.get(ref, (await findInteraction(store, ref, form, "form")).id);
}
