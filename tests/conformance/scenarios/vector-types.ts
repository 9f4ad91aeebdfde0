/**
 * The types of the vector files, as the writer creates them and the verifier reads them. Types only.
 * tests/conformance/vectors/README.md describes the same files as text.
 */
import type { SessionEvent, Json, Position, Snapshot, SseMessage } from "@turnstream/protocol";
import type { EventClass } from "../../../packages/protocol/src/fold/classify-event.ts";
import type { EventRule } from "../../../packages/protocol/src/check-event/rules.ts";
import type { SseFrame } from "../../../packages/protocol/src/sse.ts";
import type { BlocksHistory } from "@turnstream/protocol/blocks";

/** One operation of a JSON Patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: Json }
  | { readonly op: "remove"; readonly path: string };

export interface FoldVector {
  readonly description: string;
  readonly events: readonly SessionEvent[];
  readonly empty: Snapshot;
  readonly patches: readonly (readonly PatchOperation[])[];
  readonly state: Snapshot;
}

export type LegalCase = {
  readonly name: string;
  readonly events: readonly SessionEvent[];
  readonly event: SessionEvent;
} & ({ readonly legal: true } | { readonly legal: false; readonly rule: EventRule });

export interface LegalVector {
  readonly description: string;
  readonly rules: Readonly<Record<string, string>>;
  readonly cases: readonly LegalCase[];
}

export type Frame = { readonly type: string; readonly event_id?: string };

export interface DialectVector {
  readonly description: string;
  readonly dialect: string;
  readonly options?: { readonly include_tool_tags: boolean };
  readonly events: readonly SessionEvent[];
  readonly frames: readonly (readonly Frame[])[];
  readonly sse?: readonly string[];
  readonly decoded: readonly SessionEvent[];
}

/** What follows a cut: `rest`, then the items of the replay from number `replay_from` on. */
export interface Rest<Item> {
  readonly rest: readonly Item[];
  readonly replay_from: number;
}

export interface HandoffVector {
  readonly description: string;
  readonly scenario: string;
  /** What a new client receives: the complete log, coalesced, as events and as frames. */
  readonly replay: {
    readonly native: readonly SessionEvent[];
    readonly blocks: readonly Frame[];
    readonly tasks: readonly Frame[];
    readonly responses: readonly Frame[];
  };
  readonly native: readonly (Rest<SessionEvent> & {
    readonly k: number;
    readonly where: string;
    readonly cursor: string;
    readonly snapshot: Snapshot;
  })[];
  readonly reload: readonly (Rest<Frame> & {
    readonly k: readonly number[];
    readonly last_event_id: string;
    readonly history: BlocksHistory;
  })[];
  readonly resync: readonly (Rest<Frame> & {
    readonly k: number;
    readonly since: number;
    readonly frames: readonly Frame[];
  })[];
  readonly resume: Readonly<Record<"blocks" | "tasks" | "responses", readonly ResumePoint[]>>;
}

export type ResumePoint = Rest<Frame> & { readonly k: readonly number[]; readonly cursor: string };

export interface SseVector {
  readonly description: string;
  readonly format: readonly { readonly name: string; readonly frame: SseFrame; readonly text: string }[];
  readonly comment: readonly { readonly name: string; readonly comment: string; readonly text: string }[];
  readonly refuse: readonly { readonly name: string; readonly frame: SseFrame; readonly field: string }[];
  readonly json: readonly { readonly name: string; readonly value: Json; readonly text: string }[];
  readonly parse: readonly {
    readonly name: string;
    readonly text: string;
    readonly messages: readonly SseMessage[];
    readonly comments: readonly string[];
    readonly retries: readonly number[];
  }[];
}

export interface PartialJsonVector {
  readonly description: string;
  readonly cases: readonly {
    readonly name: string;
    readonly chunks: readonly string[];
    readonly partial: readonly Json[];
    readonly input: Json;
  }[];
}

export interface ToolTagsVector {
  readonly description: string;
  readonly cases: readonly {
    readonly name: string;
    readonly chunks: readonly string[];
    readonly released: readonly string[];
    readonly at_end: string;
    readonly text: string;
  }[];
}

export interface PlacesVector {
  readonly description: string;
  readonly cases: readonly {
    readonly name: string;
    readonly last: Position;
    readonly event: { readonly id: string; readonly type: string; readonly first?: number };
    readonly place: EventClass;
  }[];
}

export interface CursorsVector {
  readonly description: string;
  readonly good: readonly { readonly cursor: string; readonly epoch: number; readonly seq: number }[];
  readonly bad: readonly Json[];
  readonly order: readonly { readonly a: string; readonly b: string; readonly sign: -1 | 0 | 1 }[];
}
