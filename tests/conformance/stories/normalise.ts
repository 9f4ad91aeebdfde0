/**
 * `normalise` makes the frames of two runs of a story equal where the runs can differ, and only there:
 * - ids and digests of the server become `<kind>-<n>`, numbered in order of appearance; ids of the story stay
 * - times, durations, `chat_id` and token counts (not the number of model calls) become 0
 * - the URLs of files become those of the story, because each player serves them elsewhere
 * - cursors (`event_id`) are removed
 * - the deltas of one block are joined at the position of the first, because the cuts of a text are not part of a story
 * - a title, which can arrive at any time, is moved to the end
 * Changes nothing else: no order, no text, no field.
 */

export type Frame = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface Normal {
  readonly frames: readonly Frame[];
  /** Applies the same replacements to a value that a client built from these frames. */
  rename(value: unknown): unknown;
}

/**
 * @param own the ids that the story itself defines
 * @param addresses the URLs where its files are served, and their URLs in the story
 */
export function normalise(
  frames: readonly Frame[],
  own: ReadonlySet<string>,
  addresses: ReadonlyMap<string, string> = new Map(),
): Normal {
  const names = new Map([...namesIn(frames, own), ...addresses]);
  const rename = (value: unknown): unknown => plain(value, names);
  const bare = frames.map(({ event_id: _, ...frame }) => frame as Frame);
  const isTitle = ({ type }: Frame): boolean => TITLES.has(type);
  // Titles are moved first, so that a title in the middle of a text doesn't separate its deltas.
  const ordered = [...bare.filter((frame) => !isTitle(frame)), ...bare.filter(isTitle)];
  return { frames: joinDeltas(ordered).map((frame) => rename(frame) as Frame), rename };
}

const KINDS: Readonly<Record<string, string>> = {
  session_id: "session",
  conversation_group_id: "session",
  message_id: "turn",
  response_id: "turn",
  task_id: "turn",
  user_message_id: "message",
  approval_key: "approval",
  form_request_id: "form",
  digest: "digest",
};

const TITLES: ReadonlySet<string> = new Set(["session_title", "response.chat.title.updated"]);

const NUMBERS: ReadonlySet<string> = new Set([
  "duration_ms",
  "chat_id",
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "total_prompt_tokens",
  "total_completion_tokens",
]);

/** Times that can also be null. */
const DEADLINES: ReadonlySet<string> = new Set(["deadline"]);

function namesIn(frames: readonly Frame[], own: ReadonlySet<string>): Map<string, string> {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  const add = (kind: string | undefined, id: unknown): void => {
    if (kind === undefined || typeof id !== "string" || own.has(id) || names.has(id)) return;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    names.set(id, `${kind}-${count}`);
  };
  for (const frame of frames) {
    for (const [field, value] of Object.entries(frame)) add(KINDS[field], value);
    const block = frame["content_block"] as { approval_key?: unknown } | undefined;
    add("approval", block?.approval_key);
    const { form_request_id } = (frame["content_block"] ?? {}) as { form_request_id?: unknown };
    add(KINDS["form_request_id"], form_request_id);
    add(KINDS["digest"], (frame["delta"] as { digest?: unknown } | undefined)?.digest);
    if (frame.type === "task.output_item.added") add("item", (frame["item"] as { id: unknown }).id);
    const { approval = {} } = (frame["item"] ?? {}) as { approval?: Record<string, unknown> };
    for (const field of ["approval_key", "digest"]) add(KINDS[field], approval[field]);
  }
  return names;
}

function plain(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return names.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each) => plain(each, names));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([field, inner]) => {
    if (field === "timestamp" || NUMBERS.has(field)) return [field, 0];
    if (DEADLINES.has(field)) return [field, inner === null ? null : 0];
    return [names.get(field) ?? field, plain(inner, names)];
  });
  return Object.fromEntries(fields);
}

function joinDeltas(frames: readonly Frame[]): Frame[] {
  const out: Frame[] = [];
  const places = new Map<string, number>();
  for (const frame of frames) {
    const key = deltaKey(frame);
    const place = key === null ? undefined : places.get(key);
    const before = place === undefined ? undefined : out[place];
    if (place !== undefined && before !== undefined) out[place] = join(before, frame);
    else {
      if (key !== null) places.set(key, out.length);
      out.push(frame);
    }
    // In `responses` the whole turn has one text. A frame between two deltas must stay between them.
    if (key === null) places.delete(OUTPUT_TEXT);
  }
  return out;
}

const OUTPUT_TEXT = "response.output_text.delta";

/** A key that is equal for deltas of the same text; null for frames that can't be joined. */
function deltaKey(frame: Frame): string | null {
  const { type } = frame;
  if (type === OUTPUT_TEXT) return type;
  if (type === "content_block_delta") {
    const { type: kind, extras } = frame["delta"] as { type?: string; extras?: unknown };
    return kind === undefined || extras !== undefined
      ? null
      : [type, frame["message_id"], frame["index"]].join();
  }
  const isText = typeof frame["delta"] === "string" && type.startsWith("task.");
  return isText ? [type, frame["item_id"], frame["summary_index"] ?? frame["block_index"]].join() : null;
}

function join(a: Frame, b: Frame): Frame {
  const [one, two] = [a["delta"], b["delta"]];
  if (typeof one === "string") return { ...a, delta: `${one}${two as string}`, ...citations(a, b) };
  const field = "thinking" in (one as object) ? "thinking" : "text";
  const texts = [one, two].map((delta) => (delta as Record<string, string>)[field] ?? "");
  return { ...a, delta: { ...(one as object), [field]: texts.join(""), ...citations(one, two) } };
}

function citations(a: unknown, b: unknown): { annotations?: readonly unknown[] } {
  const both = [a, b].flatMap((one) => (one as { annotations?: readonly unknown[] }).annotations ?? []);
  return both.length === 0 ? {} : { annotations: both };
}
