/**
 * `RequestKind` is a kind of request that ends its turn, such as a form: how it is written and committed, and what a
 * model reads about it later. Features add further kinds. Types only.
 */
import type { Json, RequestBlock, Turn } from "@turnstream/protocol";
import type { Interaction } from "../../store/interactions.ts";
import type { Store } from "../../store/store.ts";
import type { Env } from "../../util/env.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { BlockDraft } from "../events/turn-writer.ts";
import type { RuntimeStrings } from "../../strings/runtime-strings.ts";
import type { EndingRequest, JournalKey } from "./journal-keys.ts";

/** What is known of a request after its turn: fields of its block, and what changed since. */
export interface RequestOutcome {
  readonly kind: Interaction["kind"];
  readonly status: string;
}

/** The attempt that writes a request. */
export interface RequestHost {
  readonly context: { readonly env: Env };
  readonly ref: SessionRef;
  readonly turn: Turn;
  readonly locale: string;
  readonly strings: RuntimeStrings;
  journal<T>(key: JournalKey<T>, value: T): Promise<void>;
  fromJournal<T>(key: JournalKey<T>): T | undefined;
}

type ParsedRequest =
  | { readonly ok: true; readonly request: EndingRequest }
  | { readonly ok: false; readonly problem: string };

interface RequestTool {
  readonly name: string;
  readonly description: string;
  /** Describes the arguments for the model. */
  readonly input: object;
  /** Reads the arguments. The model reads the problem, and can correct it. @param timeoutSeconds that of the agent */
  parse(input: Json, timeoutSeconds: number | null): ParsedRequest;
}

export interface RequestKind {
  readonly kind: RequestBlock["kind"];
  /** The tool with which a model makes such a request, if the agent has it in `featureTools`. */
  readonly tool?: RequestTool;
  /** The result that the model reads if it continues before the request is decided. */
  readonly shown: string;
  /** The message of a turn that only continues from the request. */
  readonly continued: string;
  /** Users see it as the result of a call whose tool made the request. */
  preview(host: RequestHost): string;
  /** The same for every attempt, and unique in the session. @param call the call, or the number of the request in its turn */
  idFor(turn: string, call: string | number): string;
  /** Returns the event that shows the request. */
  draft(host: RequestHost, id: string, request: EndingRequest): Promise<RequestDraft>;
  /** Returns what the store has of a request whose block is in the log. It follows from block and journal alone. */
  stored(host: RequestHost, block: RequestBlock): StoredRequest;
  /** Checks a request of a stream agent. */
  parse?(spec: unknown): ParsedRequest;
  /** True if a block already shows this request of a stream agent, which runs again. */
  isSame?(block: RequestBlock, request: EndingRequest): boolean;
  /** True if an archived block may be out of date. */
  canChange(block: RequestBlock): boolean;
  readOutcome(store: Store, ref: SessionRef, interaction: Interaction): Promise<RequestOutcome | null>;
  /** Renders the outcome for the model, as the result of the call. */
  resultJson(outcome: RequestOutcome): Json;
  /** Describes the outcome where a model searches earlier turns. */
  describe(outcome: RequestOutcome): readonly string[];
  /** A note for the prompt about requests whose results it doesn't contain. */
  note?(store: Store, ref: SessionRef, isInPrompt: (id: string) => boolean): Promise<string | null>;
}

type Unplaced<Draft> = Draft extends unknown ? Omit<Draft, "run" | "call"> : never;
type RequestDraft = Unplaced<Extract<BlockDraft, { readonly type: `${RequestBlock["kind"]}.request` }>>;

interface StoredRequest {
  readonly request: Json;
  /** Additional writes in the same commit. */
  readonly alsoCommit?: (tx: Store) => Promise<void>;
}
