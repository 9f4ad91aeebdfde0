/**
 * The files of a form that was filled in: uploads of its session. What names one that isn't there is a problem of its field,
 * and the others come with the message that goes on, so that they are read like any file. Never reads one.
 */
import type { File, FormProblem, FormSchema, Json } from "@turnstream/protocol";
import type { Ref } from "../store/refs.ts";
import type { Store } from "../store/store.ts";
import { uploadUrl } from "./upload.ts";

interface FormFile {
  readonly field: string;
  readonly upload: string;
  readonly name: string;
}

/** Values that fit the form. */
function filesIn({ fields }: FormSchema, values: Json): FormFile[] {
  const filled = values as Readonly<
    Record<string, { readonly upload: string; readonly name: string } | null>
  >;
  return fields.flatMap(({ name: field, type }) => {
    const file = type === "file" && Object.hasOwn(filled, field) ? filled[field] : null;
    return file?.upload === undefined ? [] : [{ field, upload: file.upload, name: file.name }];
  });
}

export async function missingUploads(
  store: Store,
  ref: Ref,
  schema: FormSchema,
  values: Json,
): Promise<FormProblem[]> {
  const problems: FormProblem[] = [];
  for (const { field, upload } of filesIn(schema, values))
    if ((await store.uploads.get(ref, upload))?.isComplete !== true)
      problems.push({ field, problem: "not_uploaded" });
  return problems;
}

export function formFiles(schema: FormSchema, values: Json): File[] {
  return filesIn(schema, values).map(({ upload, name }) => ({ url: uploadUrl(upload), name }));
}
