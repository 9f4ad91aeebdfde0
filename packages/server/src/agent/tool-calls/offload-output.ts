/**
 * `offloadLargeOutput` stores the large parts of a tool output as blobs before the outcome is journaled: pictures,
 * artifacts, files and long results.
 *
 * Invariant: the blobs are stored before the returned output refers to them. Pictures, artifacts and files then fit
 * into events; `truncateForModel` bounds the content. Blob ids contain the epoch, so attempts never overwrite each
 * other's blobs. A blob that users can open contains nothing that only the model reads.
 */
import type { Artifact, Json, FullContent } from "@turnstream/protocol";
import { artifactPreview, blobUrl, MAX_PREVIEW } from "@turnstream/protocol/writer";
import { plainText } from "../../session/history/model-content.ts";
import type { CitableItem, ArtifactInput, ImageInput, ResultBlock, ToolOutput } from "../define/tool.ts";
import type { ResultPart, StepCall } from "../run/journal-entries.ts";
import type { StoredImage } from "../../session/history/model-content.ts";
import { type LargeImage, parseArtifact, parseImage } from "../define/media-input.ts";
import { detectImageType } from "../../text-extraction/image-type.ts";
import { defined } from "../../util/defined.ts";
import { retryStore } from "../../engine/attempt/retry-store.ts";
import { type SmallOutput, stringifyContent } from "../run/tool-result.ts";
import type { RunContext } from "../run/run-context.ts";

export interface StoredItem extends Omit<CitableItem, "blocks"> {
  readonly blocks?: readonly ResultPart[];
}

export interface StoredOutput extends SmallOutput {
  readonly references?: readonly StoredItem[];
  readonly whole: FullContent | null;
  /** The images whose bytes are stored, by URL. */
  readonly images: ReadonlyMap<string, StoredImage>;
}

/** Size as JSON text. An event holds at most 64 kB, with all its other fields. */
const MAX_ARTIFACT = 16_000;

export async function offloadLargeOutput(
  scope: RunContext,
  call: StepCall,
  output: ToolOutput,
): Promise<StoredOutput> {
  const { artifact, blocks, references, output: _, ...rest } = output;
  const keep = new BlobUploader(scope, call);
  return {
    ...rest,
    ...(blocks === undefined ? {} : { blocks: await keep.blocks(blocks) }),
    ...(references === undefined ? {} : { references: await keep.items(references) }),
    ...(artifact === undefined ? {} : { artifact: await keep.artifact(artifact) }),
    whole: await keep.whole(output),
    images: keep.images,
  };
}

const DATA_URL = /^data:[^,]*;base64,/;

/** Returns the bytes of a data URL, or null for any other URL. */
export function decodeDataUrl(url: string): Uint8Array | null {
  const start = DATA_URL.exec(url)?.[0];
  return start === undefined ? null : Buffer.from(url.slice(start.length), "base64");
}

/** Stores the blobs of one call. Their ids contain the epoch, so attempts never overwrite each other's blobs. */
export class BlobUploader {
  /** The images that a model can see, by URL. */
  readonly images = new Map<string, StoredImage>();
  readonly #scope: RunContext;
  readonly #prefix: string;
  #count = 0;

  /** @param of separates the blob ids of several uploaders of one call */
  constructor(scope: RunContext, { call }: StepCall, of = "result") {
    this.#scope = scope;
    this.#prefix = `${of}.${scope.attempt.row.turn}.${call}.${scope.attempt.epoch}`;
  }

  /** @returns a URL that is short enough for events */
  async #picture(picture: string | ImageInput): Promise<string> {
    const read = parseImage(picture);
    return "url" in read ? this.small(read.url) : this.large(read);
  }

  small(url: string): string {
    const bytes = decodeDataUrl(url);
    if (bytes !== null) this.#addImage(url, bytes);
    return url;
  }

  async large({ mediaType, body }: LargeImage): Promise<string> {
    const { blob } = await this.#put(mediaType, body);
    const url = blobUrl(blob);
    this.#addImage(url, body);
    return url;
  }

  /** The bytes decide about the type: a provider refuses a request whose image is not of its declared type. */
  #addImage(url: string, bytes: Uint8Array): void {
    const mediaType = detectImageType(bytes);
    if (mediaType !== null) this.images.set(url, { url, mediaType, size: bytes.byteLength });
  }

  async blocks(blocks: readonly ResultBlock[]): Promise<ResultPart[]> {
    const shown: ResultPart[] = [];
    for (const block of blocks) {
      if (block.type === "text") shown.push(block);
      else shown.push({ type: "image", url: await this.#picture("url" in block ? block.url : block) });
    }
    return shown;
  }

  async items(items: readonly CitableItem[]): Promise<StoredItem[]> {
    const settled: StoredItem[] = [];
    for (const { blocks, ...item } of items)
      settled.push({ ...item, ...(blocks === undefined ? {} : { blocks: await this.blocks(blocks) }) });
    return settled;
  }

  async artifact(given: ArtifactInput): Promise<Artifact> {
    const file = parseArtifact(given);
    if (file !== null) return file.artifact((await this.#put(file.mediaType, file.body, file.name)).blob);
    // Only file artifacts are parsed; other artifacts already have their final form.
    const artifact = given as Artifact;
    const text = JSON.stringify(artifact.data);
    if (text.length <= MAX_ARTIFACT) return artifact;
    const whole = await this.#put("application/json", Buffer.from(text));
    const data = artifactPreview(artifact);
    // A preview of wide rows or many lines can also be too large.
    return { ...artifact, data: JSON.stringify(data).length <= MAX_ARTIFACT ? data : null, whole };
  }

  /**
   * Stores the full content of a result whose preview is truncated, for users who open it. Content beside `blocks` or
   * a `preview` is only for the model.
   */
  async whole({ content, blocks, preview, references }: ToolOutput): Promise<FullContent | null> {
    const shown = blocks === undefined && preview === undefined ? [content] : [];
    if (references !== undefined)
      return this.#wholeOf([...references.flatMap((item) => (item.blocks ? [] : [item.content])), ...shown]);
    if (shown.length === 0 || stringifyContent(content).length <= MAX_PREVIEW) return null;
    if (typeof content === "string") return this.#put("text/plain", Buffer.from(content));
    return this.#put("application/json", Buffer.from(JSON.stringify(content)));
  }

  async #wholeOf(contents: readonly Json[]): Promise<FullContent | null> {
    const texts = contents.map(plainText);
    if (texts.every((text) => text.length <= MAX_PREVIEW)) return null;
    return this.#put("text/plain", Buffer.from(texts.filter((text) => text !== "").join("\n\n")));
  }

  async #put(mediaType: string, body: Uint8Array, name?: string): Promise<FullContent> {
    const { context, ref } = this.#scope.attempt;
    const id = `${this.#prefix}.${this.#count++}`;
    await retryStore(context, () =>
      context.store.blobs.put(ref, { id, mediaType, ...defined({ name }), body }),
    );
    return { blob: id, size: body.byteLength, media_type: mediaType };
  }
}
