/**
 * `readPriorTurns` reads the conversation before a turn from the archive: the turns since the last compaction, and the
 * summary of older ones.
 *
 * Invariant: it reads page by page, newest first, up to the last compaction. What it reads is bounded, whatever the
 * length of the session: it stops after the turn that fills `maxTokens` tokens of the prompt or `MAX_READ_CHARS` of
 * stored text, and after 500 turns. The current page is then the last one. Results are cut to 20,000 characters in the
 * newest two turns and to 1,000 in older ones, except in retried turns. Requests have their current state,
 * because they can change after their turn.
 */
import {
  type Block,
  findToolResult,
  listBlocks,
  mainRun,
  restoreTurn,
  type Turn,
  type UserMessage,
} from "@turnstream/protocol";
import { interactionId, isRequest, truncateText } from "@turnstream/protocol/writer";
import type { ContentPart } from "../../session/history/model-content.ts";
import { resolveResult } from "../../session/history/result-reference.ts";
import { textLength } from "../../session/history/turn-pages.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import {
  CALL_PREFIX,
  callKey,
  startKey,
  type ToolCallRecord,
  type CompactionRecord,
  COMPACTION_KEY,
  type FileRecord,
  fileKey,
} from "../attempt/journal-entries.ts";
import type { Prompt } from "../../models/model.ts";
import { lastId } from "../attempt/reference-pool.ts";
import type { RequestOutcome } from "../attempt/request-kind.ts";
import type { RequestKinds } from "./interaction-result.ts";
import { continuationText, type TurnWithMessages } from "./continuations.ts";
import { estimatePrompt } from "./trim-to-budget.ts";
import { turnMessages } from "./turn-messages.ts";
import { defined } from "../../util/defined.ts";

interface EarlierTurn extends TurnWithMessages {
  /** The references that can be cited and the last id that was used. Set only if the current turn retries this one. */
  readonly cited: Cited | null;
}

interface Cited {
  readonly pool: readonly ContentPart[];
  readonly lastId: number;
}

export interface PriorTurns {
  /** The summary of older turns, or null if there is none. */
  readonly summary: string | null;
  /** In ascending order. */
  readonly turns: readonly EarlierTurn[];
}

/** Small pages, because a page is read as a whole. */
const PAGE = 20;
const MAX_TURNS = 500;
/** Most of a stored turn may be results that are cut here, or blocks of sub-agents. */
const MAX_READ_CHARS = 4_000_000;
/** Results of the newest turns keep up to `RECENT_CHARS`; older ones keep up to `OLDER_CHARS`. */
const NEWEST = 2;
const RECENT_CHARS = 20_000;
const OLDER_CHARS = 1_000;
/** Limit for messages that are stored as blobs. The model read the full text when the message arrived. */
const MESSAGE_CHARS = 100_000;

type FileOf = (n: number) => FileRecord | undefined;

export interface PriorTurnsOptions {
  readonly requestKinds: RequestKinds;
  /** True if the model sees images. */
  readonly withImages: boolean;
  /** Reads no older turn once the read ones fill this part of a prompt. */
  readonly maxTokens: number;
  /** Returns records of files of the retried turn that the current turn has read. */
  readonly readNow?: FileOf;
}

/** @param before the current turn */
export async function readPriorTurns(
  store: Store,
  ref: SessionRef,
  before: Pick<Turn, "id" | "number" | "retries">,
  { requestKinds, withImages, maxTokens, readNow = () => undefined }: PriorTurnsOptions,
): Promise<PriorTurns> {
  if (before.number === 1) return { summary: null, turns: [] };
  const turns: EarlierTurn[] = [];
  // Keyed by the retried turn: the file records of the turn that retried it.
  const readLater = new Map<string | null, FileOf>([[before.retries, readNow]]);
  let retried = before.retries;
  let start: number | undefined;
  let [tokens, chars] = [0, 0];
  const isFull = (): boolean =>
    turns.length >= NEWEST && retried === null && (tokens > maxTokens || chars > MAX_READ_CHARS);
  while (turns.length < MAX_TURNS && !isFull()) {
    const page = await store.turns.list(ref, {
      limit: PAGE,
      ...defined({ before: start }),
    });
    const entries = await store.journal.retained(
      ref,
      page.map(({ id }) => id),
    );
    const records = new Map(entries.map(({ turn, key, value }) => [`${turn} ${key}`, value]));
    for (const archived of page) {
      if (archived.id === before.id || archived.snapshot.number >= before.number) continue;
      if (isFull()) break;
      const turn = await attachOutcomes(store, ref, restoreTurn(archived.snapshot), requestKinds);
      const isCitable = turn.id === retried;
      if (isCitable) retried = turn.retries;
      const resultChars = isCitable ? Infinity : turns.length < NEWEST ? RECENT_CHARS : OLDER_CHARS;
      const resultOf = (call: string) => {
        const stored = records.get(`${turn.id} ${CALL_PREFIX}${call}`);
        const record = stored === undefined ? undefined : resolveResult(stored, findToolResult(turn, call));
        return record as ToolCallRecord | undefined;
      };
      const fileOf: FileOf = (n) =>
        (records.get(`${turn.id} ${fileKey(n)}`) as FileRecord | undefined) ?? readLater.get(turn.id)?.(n);
      readLater.set(turn.retries, fileOf);
      const wasStarted = (call: string): boolean => records.has(`${turn.id} ${startKey(call)}`);
      const message = turn.message === null ? null : await loadWhole(store, ref, turn.message, MESSAGE_CHARS);
      const options = { requestKinds, resultOf, fileOf, wasStarted, resultChars, isCitable, withImages };
      const messages = turnMessages({ ...turn, message }, options);
      const continuation = await readContinuation(store, ref, message, requestKinds);
      turns.push({ turn, messages, continuation, cited: isCitable ? citedOf(turn, entries) : null });
      tokens += estimatePrompt(messages);
      chars += textLength(turn);
      const compact = records.get(`${turn.id} ${COMPACTION_KEY}`) as unknown as CompactionRecord | undefined;
      if (compact !== undefined) {
        return {
          summary: compact.summary,
          turns: joined(turns.filter((t) => t.turn.number > compact.upTo)),
        };
      }
    }
    start = page.at(-1)?.start;
    if (page.length < PAGE) break;
  }
  return { summary: null, turns: joined(turns) };
}

/** The main run may cite its references again. The ids of all runs stay taken. */
function citedOf(turn: Turn, entries: Awaited<ReturnType<Store["journal"]["retained"]>>): Cited {
  const main = mainRun(turn)?.id;
  const own = listBlocks(turn).flatMap((block) =>
    block.kind === "tool_call" && block.run === main ? [callKey(block.call)] : [],
  );
  const records = entries.filter((entry) => entry.turn === turn.id && entry.key.startsWith(CALL_PREFIX));
  // A reference to a result has a pool only if it is not empty.
  const poolOf = ({ value }: (typeof records)[number]) => (value as Partial<ToolCallRecord>).pool ?? [];
  return {
    pool: records.filter(({ key }) => own.includes(key)).flatMap(poolOf),
    lastId: Math.max(0, ...records.map((record) => lastId({ pool: poolOf(record) }))),
  };
}

/** Sorts ascending. Drops the last assistant message of a retried turn, because the retry continues from there. */
function joined(newestFirst: readonly EarlierTurn[]): EarlierTurn[] {
  const retried = new Set(newestFirst.flatMap(({ turn }) => turn.retries ?? []));
  return newestFirst
    .map((entry) => (retried.has(entry.turn.id) ? { ...entry, messages: dropLast(entry.messages) } : entry))
    .toReversed();
}

/** Updates requests from the store, because they can change after their turn was archived. */
export async function attachOutcomes(
  store: Store,
  ref: SessionRef,
  turn: Turn,
  kinds: RequestKinds,
): Promise<Turn> {
  let { items } = turn;
  for (const block of listBlocks(turn)) {
    if (!("version" in block) || !isRequest(block)) continue;
    const canChange = kinds.get(block.kind)?.canChange(block) ?? true;
    const outcome = canChange ? await readOutcome(store, ref, interactionId(block), kinds) : null;
    if (outcome?.kind === block.kind) items = items.with(block.index, { ...block, ...outcome } as Block);
  }
  return items === turn.items ? turn : { ...turn, items };
}

/** Returns the outcome of what a message continues from, as text, or null if it continues from nothing. */
export async function readContinuation(
  store: Store,
  ref: SessionRef,
  message: UserMessage | null,
  kinds: RequestKinds,
): Promise<string | null> {
  const id = message?.resumes ?? null;
  return id === null ? null : continuationText(kinds, await readOutcome(store, ref, id, kinds));
}

/** Returns null if there is no such request. A worker without its feature knows its status only. */
async function readOutcome(
  store: Store,
  ref: SessionRef,
  id: string,
  kinds: RequestKinds,
): Promise<RequestOutcome | null> {
  const interaction = await store.interactions.byKey(ref, id);
  if (interaction === null) return null;
  const { kind, status } = interaction;
  return kinds.get(kind)?.readOutcome(store, ref, interaction) ?? { kind, status };
}

/** Drops a final assistant message, because the model generates it again. */
export function dropLast(messages: Prompt): Prompt {
  return messages.at(-1)?.role === "assistant" ? messages.slice(0, -1) : messages;
}

/** Loads the full text of a message from its blob, up to `maxChars`. */
export async function loadWhole(
  store: Store,
  ref: SessionRef,
  message: UserMessage,
  maxChars = Infinity,
): Promise<UserMessage> {
  if (message.whole === null) return message;
  const blob = await store.blobs.get(ref, message.whole.blob);
  if (blob === null) return message;
  const text = Buffer.from(blob.body).toString("utf8");
  return { ...message, text: text.length <= maxChars ? text : `${truncateText(text, maxChars)} [cut]` };
}
