/**
 * A question about a photo. 001 gives the model text and images: here it sees the photo of the message and the picture
 * that its tool returns. Data only.
 */
import type { Story } from "../story.ts";

export const PHOTO =
  "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR42mOo6FkARwzEcQCoUhpBtvWw9QAAAABJRU5ErkJggg==";
export const DETAIL =
  "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEUlEQVR42mN4tkUDjhiI4wAA53IcIcQngO0AAAAASUVORK5CYII=";

export const photoQuestion: Story = {
  name: "photo-question",
  source: "001",
  ask: "Which bird is this?",
  files: [{ url: "https://example.com/bird.png", image: PHOTO }],
  agent: {
    name: "PhotoAgent",
    model: "model-001",
    seesImages: true,
    tools: { zoom_in: "Zoom in" },
    answers: [
      [{ think: "The beak decides." }, { call: "zoom_in", id: "call_zoom", input: { part: "beak" } }],
      [{ text: "It is a grey heron." }],
    ],
  },
  outcomes: {
    call_zoom: {
      gives: "The beak is enlarged.",
      shows: { text: "The beak", pictures: [`data:image/png;base64,${DETAIL}`] },
      after: "tool_result.start call_zoom",
    },
  },
  reloadAt: ["thinking.delta main", "tool_result.start call_zoom", "text.delta main"],
};
