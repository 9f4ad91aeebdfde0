/**
 * What a person does in a story, as its player needs it done: by calling our functions (own-hands.ts), over real
 * connections (wire-hands.ts), or on pages in a browser. Types only.
 */
import type { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import type { Choice, Moment, Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import type { SessionState } from "@turnstream/protocol";
import type { BlocksHistory } from "@turnstream/protocol/blocks";
import type { SessionRef } from "../../src/store/refs.ts";

/** A client that came in the middle, with the history that it found. */
export interface Reload {
  readonly at: Moment;
  readonly history: BlocksHistory;
  readonly client: BlocksClient;
}

/** @typeParam Seen what is known of a client that came in the middle */
export interface StoryDriver<Seen = Reload> {
  /** How long a turn may take with them. */
  readonly timeoutMs?: number;
  /** Looks at a new session before anything is asked in it. */
  watch(ref: SessionRef, story: Story): Promise<void>;
  /** @returns the id of the message */
  ask(ref: SessionRef, story: Story): Promise<string>;
  stop(ref: SessionRef): Promise<void>;
  /** @param state as the log shows it */
  choose(ref: SessionRef, state: SessionState, choice: Choice): Promise<void>;
  /** Its turn has ended, and its worker is done with it. */
  fillIn(ref: SessionRef, form: StoryForm): Promise<void>;
  /**
   * Loads history now. What it gives back goes on from there, until so many turns have ended.
   */
  reload(ref: SessionRef, at: Moment, turns: number): Promise<() => Promise<Seen>>;
}
