/**
 * The files of a form that was filled in: uploads of its session. What names one that isn't there is a problem of its field,
 * and the others come with the message that goes on, so that they are read like any file. Never reads one.
 */
import type { File, FormProblem, FormSchema, Json } from "@turnstream/protocol";
import type { Ref } from "../store/refs.ts";
import type { Store } from "../store/store.ts";
import { uploadUrl } from "./blobs/upload.ts";

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

/** The values with what the uploads themselves say of name, kind and size, instead of what the person's client says. */
export async function settleFiles(
  store: Store,
  ref: Ref,
  schema: FormSchema,
  values: Json,
): Promise<{ readonly values: Json; readonly problems: readonly FormProblem[] }> {
  const problems: FormProblem[] = [];
  const settled: Record<string, Json> = {};
  for (const { field, upload: id } of filesIn(schema, values)) {
    const upload = await store.uploads.get(ref, id);
    if (upload?.isComplete !== true) problems.push({ field, problem: "not_uploaded" });
    else settled[field] = { upload: id, name: upload.name, media_type: upload.mediaType, size: upload.size };
  }
  return { values: { ...(values as { readonly [field: string]: Json }), ...settled }, problems };
}

export function formFiles(schema: FormSchema, values: Json): File[] {
  return filesIn(schema, values).map(({ upload, name }) => ({ url: uploadUrl(upload), name }));
}
