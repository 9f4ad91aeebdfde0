/**
 * `imagePart` places an image in a prompt by its stored URL, and `resolveImages` replaces it with its bytes right before
 * a model call. `withoutImages` is for models that get no images.
 *
 * Invariant: until the call, a prompt contains only stable URLs and sizes of the journal. So every attempt selects the
 * same images, and no signed URL reaches a provider. The newest images take precedence within the limits; a text stands
 * for each of the others. An image that can't be loaded never fails a turn.
 */
import { parseBlobUrl } from "@turnstream/protocol/writer";
import { OF_RESULTS, type Prompt, type PromptFile, type PromptMessage } from "../../models/model.ts";
import { readUpload, uploadIdOf } from "../../session/blobs/upload.ts";
import type { StoredImage } from "../../session/history/model-content.ts";
import { retryStore } from "../../engine/attempt/retry-store.ts";
import type { RunContext } from "../run/run-context.ts";
import { decodeDataUrl } from "../tool-calls/offload-output.ts";
import type { ImageLimits } from "../define/limits.ts";

/** Marks the parts that `resolveImages` replaces. No provider has this name. */
const OWN = "turnstream";

export function imagePart({ url, mediaType, size }: StoredImage, filename = ""): PromptFile {
  return {
    type: "file",
    mediaType,
    ...(filename === "" ? {} : { filename }),
    data: { type: "reference", reference: { [OWN]: url } },
    providerOptions: { [OWN]: { size } },
  };
}

/**
 * Returns the images of tool results as a message after the results: not all providers accept images in the results.
 * @param results the results of one step
 */
export function resultImages(
  results: readonly { readonly name: string; readonly images?: readonly StoredImage[] | undefined }[],
): Prompt {
  const content = results.flatMap(({ name, images = [] }) =>
    images.flatMap((image, n) => {
      const which = images.length === 1 ? "Image" : `Image ${n + 1} of ${images.length}`;
      const cited = image.id === undefined ? "" : `, reference ${image.id}`;
      const text = `[${which} of the result of ${name}${cited}. It is not a message of the user.]`;
      return [{ type: "text" as const, text }, imagePart(image)];
    }),
  );
  return content.length === 0 ? [] : [{ role: "user", content, providerOptions: OF_RESULTS }];
}

export function countImages(prompt: Prompt): number {
  return listImages(prompt).length;
}

/** Replaces all images with texts. */
export function withoutImages(prompt: Prompt): Prompt {
  return replaceImages(prompt, (part) => leftOut(part, "not part of this conversation"));
}

/** Replaces images beyond the limits with texts. The newest images stay. Pure. */
export function limitImages(prompt: Prompt, limits: ImageLimits): Prompt {
  const problems = new Map<PromptFile, string>();
  let count = 0;
  let bytes = 0;
  for (const part of listImages(prompt).toReversed()) {
    const { size } = storedIn(part);
    if (size > limits.maxImageBytes) problems.set(part, "too large");
    else if (count >= limits.maxImages || bytes + size > limits.maxTotalBytes)
      problems.set(part, "left out in favour of newer images");
    else [count, bytes] = [count + 1, bytes + size];
  }
  return replaceImages(prompt, (part) => {
    const problem = problems.get(part);
    return problem === undefined ? part : leftOut(part, problem);
  });
}

/** Loads the images of a prompt, within the limits that the run started with. */
export async function resolveImages(scope: RunContext, prompt: Prompt): Promise<Prompt> {
  const { images: limits } = scope.pinned;
  if (limits === null) return withoutImages(prompt);
  const limited = limitImages(prompt, limits);
  const loaded = new Map<string, Uint8Array | null>();
  for (const part of listImages(limited)) {
    const { url } = storedIn(part);
    if (!loaded.has(url)) loaded.set(url, await loadImage(scope, url));
  }
  return replaceImages(limited, (part) => {
    const { providerOptions: _, ...file } = part;
    const data = loaded.get(storedIn(part).url) ?? null;
    return data === null ? leftOut(part, "no longer stored") : { ...file, data: { type: "data", data } };
  });
}

async function loadImage({ attempt }: RunContext, url: string): Promise<Uint8Array | null> {
  const { context, ref } = attempt;
  const inUrl = decodeDataUrl(url);
  if (inUrl !== null) return inUrl;
  return retryStore(context, async () => {
    const blob = parseBlobUrl(url);
    if (blob !== null) return (await context.store.blobs.get(ref, blob))?.body ?? null;
    const upload = await readUpload(context, ref, uploadIdOf(url) ?? "");
    if (upload === null) return null;
    const chunks: Uint8Array[] = [];
    for await (const chunk of upload.body) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  });
}

function leftOut({ filename }: PromptFile, problem: string): { type: "text"; text: string } {
  const name = filename === undefined ? "" : ` ${JSON.stringify(filename)}`;
  return { type: "text", text: `[The image${name} can't be shown: it is ${problem}.]` };
}

function storedIn({ data, providerOptions }: PromptFile): { readonly url: string; readonly size: number } {
  const url = data.type === "reference" ? (data.reference[OWN] ?? "") : "";
  const size = providerOptions?.[OWN]?.["size"];
  return { url, size: typeof size === "number" ? size : 0 };
}

function isOwn(part: { readonly type: string }): part is PromptFile {
  return part.type === "file" && storedIn(part as PromptFile).url !== "";
}

function listImages(prompt: Prompt): PromptFile[] {
  return prompt.flatMap((message) => (message.role === "user" ? message.content.filter(isOwn) : []));
}

type UserContent = Extract<PromptMessage, { role: "user" }>["content"];

function replaceImages(prompt: Prompt, replace: (part: PromptFile) => UserContent[number]): Prompt {
  return prompt.map((message) =>
    message.role === "user" && message.content.some(isOwn)
      ? { ...message, content: message.content.map((part) => (isOwn(part) ? replace(part) : part)) }
      : message,
  );
}
