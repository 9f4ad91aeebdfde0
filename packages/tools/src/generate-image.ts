/**
 * `generateImageTool` creates the tool `generate_image`, which shows pictures of an image service. `ImageGenerator` is
 * the port that such a service implements.
 *
 * Invariant: each picture is checked before it is shown: a known raster type of at most 20 MB. The user sees every
 * intermediate picture. After a crash the tool runs again with the same idempotency key.
 */
import { z } from "zod";
import { type ImageInput, type Tool, tool, type ToolContext, ToolError } from "@turnstream/server";

export interface ImageGenerator {
  /** Yields complete pictures; the last one is the final one. */
  generate(request: ImageRequest): AsyncIterable<ImageInput>;
}

export interface ImageRequest {
  readonly prompt: string;
  readonly shape: "square" | "wide" | "tall";
  /** Aborted when the turn is stopped or the tool times out. */
  readonly signal: AbortSignal;
  /** The same for every attempt at this call. */
  readonly idempotencyKey: string;
  readonly tenant: ToolContext["tenant"];
}

const TYPES = /^image\/(png|jpeg|webp|gif|avif)$/;
const MAX_BYTES = 20_000_000;
const TIMEOUT_MS = 5 * 60_000;

export function generateImageTool(generator: ImageGenerator): Tool {
  return tool({
    description: "Creates a picture from a description and shows it to the user.",
    label: "Making a picture",
    input: z.object({
      prompt: z.string().min(1).max(4_000).describe("What is to be seen, in detail."),
      shape: z.enum(["square", "wide", "tall"]).optional(),
    }),
    // After a crash, generating the picture again is better than an error, even if it is paid for twice.
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    async run({ prompt, shape = "square" }, context) {
      const { signal, idempotencyKey, tenant } = context;
      let count = 0;
      for await (const picture of generator.generate({ prompt, shape, signal, idempotencyKey, tenant })) {
        check(picture);
        context.image(picture);
        count++;
      }
      if (count === 0) throw new ToolError("No picture was made.");
      return {
        content: "The picture is shown to the user. You need not show it again.",
        preview: "",
        resultCount: 1,
      };
    },
  });
}

function check({ data, mediaType }: ImageInput): void {
  const bytes = typeof data === "string" ? (data.length * 3) / 4 : data.byteLength;
  if (!TYPES.test(mediaType))
    throw new ToolError("No picture was made.", {
      modelMessage: `The service returned ${mediaType}, which is not a supported image type.`,
    });
  if (bytes === 0 || bytes > MAX_BYTES) throw new ToolError("The picture is too large.");
}
