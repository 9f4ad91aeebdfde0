/** `openaiImages` generates images with OpenAI and shows previews. Printed in docs/built-in-tools.md. */
import type { createOpenAI } from "@ai-sdk/openai";
import type { ImageGenerator } from "@turnstream/tools";
import { streamText } from "ai";

const SIZES = { square: "1024x1024", wide: "1536x1024", tall: "1024x1536" } as const;

export function openaiImages(openai: ReturnType<typeof createOpenAI>, model = "gpt-5"): ImageGenerator {
  return {
    async *generate({ prompt, shape, signal, idempotencyKey }) {
      const image = openai.tools.imageGeneration({
        partialImages: 2,
        size: SIZES[shape],
        outputFormat: "webp",
      });
      const { stream } = streamText({
        model: openai.responses(model),
        prompt: `Make this picture: ${prompt}`,
        tools: { image_generation: image },
        toolChoice: { type: "tool", toolName: "image_generation" },
        headers: { "idempotency-key": idempotencyKey },
        abortSignal: signal,
        onError: () => {},
      });
      for await (const part of stream) {
        if (part.type === "error") throw part.error;
        // Each result replaces the previous one. The last one is the finished image.
        if (part.type === "tool-result" && part.toolName === "image_generation")
          yield { data: (part.output as { result: string }).result, mediaType: "image/webp" };
      }
    },
  };
}
