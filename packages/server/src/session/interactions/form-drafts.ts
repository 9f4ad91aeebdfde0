/**
 * `saveFormDraft` and `readFormDraft` store a partly filled form on the server, so that the user can continue on any
 * device.
 *
 * Invariant: only a pending form has a draft, and its values fit their fields. The last draft wins. A draft never
 * becomes an event, so subscribers don't see it.
 */
import { checkPartialForm, type Json } from "@turnstream/protocol";
import { StoreError } from "../../store/errors.ts";
import type { FormDraft } from "../../store/form-drafts.ts";
import type { SessionRef } from "../../util/refs.ts";
import { findInteraction } from "./find.ts";
import { FormError, storedForm } from "./submit-form.ts";
import type { Backend } from "../backend.ts";

/**
 * The last draft wins. Values must fit their fields, but required fields may be empty.
 * @throws StoreError NOT_FOUND, INVALID (`FormError`), TOO_LARGE beyond 64 kB, or CONFLICT if the form is already
 * decided
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

/** Returns null if there is no draft, or not any more. @throws StoreError NOT_FOUND */
export async function readFormDraft(
  { store }: Pick<Backend, "store">,
  ref: SessionRef,
  form: string,
): Promise<FormDraft | null> {
  return store.formDrafts.get(ref, (await findInteraction(store, ref, form, "form")).id);
}
