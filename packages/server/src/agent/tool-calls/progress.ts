/**
 * `ToolProgress` writes the text and pictures that a running tool shows, in call order. The tool does not wait for the
 * log.
 *
 * Invariant: nothing is written after `end` or `close`. A call writes at most 200 parts, so that a tool can't flood the
 * log. Invalid progress never fails the call; only `setArtifact` throws.
 */
import type { ArtifactInput, ImageInput } from "../define/tool.ts";
import { parseArtifact, parseImage } from "../define/media-input.ts";
import type { BlockRef } from "../../engine/events/turn-writer.ts";
import type { RunContext } from "../run/run-context.ts";
import type { StoredImage } from "../../session/history/model-content.ts";
import { BlobUploader } from "./offload-output.ts";
import type { StepCall } from "../run/journal-entries.ts";

/** Further parts are dropped, so that a tool can't flood the log. */
const MAX_PROGRESS = 200;
const MAX_IMAGES = 100;

export class ToolProgress {
  readonly #scope: RunContext;
  readonly #call: StepCall;
  readonly #place: BlockRef;
  readonly #uploader: BlobUploader;
  #last: Promise<unknown> = Promise.resolve();
  /** The parts that are not written yet: a picture that is uploading, and those after it. */
  #queue: Promise<void> = Promise.resolve();
  #image: string | null = null;
  readonly #finalImages: string[] = [];
  #parts = 0;
  #imageCount = 0;
  #isOver = false;
  #isDropped = false;
  artifact: ArtifactInput | null = null;

  constructor(scope: RunContext, call: StepCall, place: BlockRef) {
    this.#scope = scope;
    this.#call = call;
    this.#place = place;
    this.#uploader = new BlobUploader(scope, call, "picture");
    const block = scope.attempt.turn.items.get(place.index);
    // A result that stayed open across a takeover already has parts.
    if (block?.kind === "tool_result") this.#parts = block.parts.length;
  }

  text(text: string): void {
    // A tool can be plain JavaScript and pass any value. Ignore invalid progress instead of failing the call.
    if (this.#isOver || typeof text !== "string" || text === "") return;
    this.#inOrder(() => this.#part("text", text));
  }

  image(image: string | ImageInput): void {
    if (this.#isOver || this.#imageCount++ >= MAX_IMAGES) return;
    try {
      // At once, because the tool may reuse its buffer.
      const read = parseImage(image);
      const store = async (): Promise<string> =>
        "url" in read ? this.#uploader.small(read.url) : this.#uploader.large(read);
      this.#inOrder(async () => this.#part("image", await store()));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @throws if the artifact can't be shown */
  setArtifact(artifact: ArtifactInput): void {
    const file = parseArtifact(artifact);
    if (this.#isOver) return;
    if (file === null) this.artifact = artifact;
    else {
      const { name, body: data, mediaType } = file;
      this.artifact = { ...artifact, type: "file", data: { name, data, mediaType } };
    }
  }

  /** @returns how many parts were written */
  async end(): Promise<number> {
    this.#isOver = true;
    await this.#queue;
    this.#endImage();
    this.close();
    await this.#last;
    return this.#parts;
  }

  close(): void {
    this.#isOver = true;
    this.#isDropped = true;
  }

  #inOrder(show: () => void | Promise<void>): void {
    this.#queue = this.#queue.then(show).catch((error: unknown) => this.#failed(error));
  }

  #failed(error: unknown): void {
    const { context } = this.#scope.attempt;
    context.onError(error, { during: `the progress of the tool ${this.#call.name}` });
  }

  #part(media: "text" | "image", data: string): void {
    if (this.#isDropped || this.#parts >= MAX_PROGRESS) return;
    const isSame = media === "image" && this.#image !== null;
    if (!isSame) this.#endImage();
    const part = isSame ? this.#parts - 1 : this.#parts++;
    if (media === "image") this.#image = data;
    this.#write({ part, media, data, done: media === "text" });
  }

  #endImage(): void {
    const data = this.#image;
    this.#image = null;
    if (data === null) return;
    this.#finalImages.push(data);
    this.#write({ part: this.#parts - 1, media: "image", data, done: true });
  }

  /** The images that stay visible and that a model can see. Complete after `end`. */
  get images(): readonly StoredImage[] {
    return this.#finalImages.flatMap((url) => this.#uploader.images.get(url) ?? []);
  }

  #write(delta: { part: number; media: "text" | "image"; data: string; done: boolean }): void {
    const { writer } = this.#scope.attempt;
    const written = writer.write({ type: "tool_result.delta", ...this.#place, ...delta });
    this.#last = Promise.all([this.#last, written]);
    // `end` reports the failure. Without this handler an earlier rejection is unhandled and terminates the process.
    this.#last.catch(() => {});
  }
}
