/**
 * `composer` are the English strings of the composer that most users never see: refused files and the choice of an agent.
 * Invariant: they define the shape of the other languages, so a new key needs a text in each. They are loaded with
 * the parts that show them, so they are not part of the first load.
 */
import { countText } from "@turnstream/protocol";

export const composer = {
  /** The names of files, or the first of them, and a sentence with the reason. */
  notAdded: (names: string, reason: string): string => `Not added: ${names}. ${reason}`,
  moreFiles: countText("en", { one: "one more file", other: "# more files" }),
  accepted: (kinds: string): string => `Accepted types: ${kinds}.`,
  noFiles: "Files can't be attached here.",
  maxSize: (size: string): string => `A file can have at most ${size}.`,
  maxFiles: countText("en", {
    one: "A message can have one file.",
    other: "A message can have at most # files.",
  }),
  /** Kinds of files that a media type such as `image/*` names. */
  kinds: { image: "images", audio: "audio", video: "videos", text: "text" } as Readonly<
    Record<string, string>
  >,
  dismiss: "Dismiss",
  agent: "Agent",
};
