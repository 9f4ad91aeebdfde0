/**
 * The tool `generate_image`, on whichever service a team has: the port that such a service fills, and the tool around it.
 * People see the picture while it becomes clearer. Never calls a service itself.
 */
import { z } from "zod";
import { type ImageInput, type Tool, tool, type ToolContext, ToolError } from "../define/tool.ts";

export interface ImageGenerator {
  /** Each a whole picture; the last one is the final one. */
  generate(request: ImageRequest): AsyncIterable<ImageInput>;
}

export interface ImageRequest {
  readonly prompt: string;
  readonly shape: "square" | "wide" | "tall";
  /** Aborted when the turn is stopped, or the tool's time is up. */
  readonly signal: AbortSignal;
  /** The same for every try of this call. */
  readonly idempotencyKey: string;
  readonly tenant: ToolContext["tenant"];
}

const TYPES = /^image\/(png|jpeg|webp|gif|avif)$/;
const MAX_BYTES = 20_000_000;
const TIMEOUT_MS = 5 * 60_000;

export function generateImageTool(generator: ImageGenerator): Tool {
  return tool({
    description: "Makes a picture from a description and shows it to the person.",
    label: "Making a picture",
    input: z.object({
      prompt: z.string().min(1).max(4_000).describe("What is to be seen, in detail."),
      shape: z.enum(["square", "wide", "tall"]).optional(),
    }),
    // A picture that was paid for is not worth an error: it is made again.
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
        content: "The picture is shown to the person. You need not show it again.",
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
      modelMessage: `It made ${mediaType}, which is no picture.`,
    });
  if (bytes === 0 || bytes > MAX_BYTES) throw new ToolError("The picture is too large.");
}
