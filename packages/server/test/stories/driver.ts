/**
 * The actions of the user in a story, as `runStory` needs them: by function calls (in-process-driver.ts), over real
 * connections (network-driver.ts), or in a browser.
 */
import type { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import type { Choice, Moment, Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import type { SessionState } from "@turnstream/protocol";
import type { BlocksHistory } from "@turnstream/protocol/blocks";
import type { SessionRef } from "../../src/util/refs.ts";

/** A client that connected during the story, with the history that it loaded. */
export interface Reload {
  readonly at: Moment;
  readonly history: BlocksHistory;
  readonly client: BlocksClient;
}

/** @typeParam Seen what is known of a client that connected during the story */
export interface StoryDriver<Seen = Reload> {
  /** The longest duration of a turn with this driver. */
  readonly timeoutMs?: number;
  /** Connects to a new session before the first message. */
  watch(ref: SessionRef, story: Story): Promise<void>;
  /** @returns the id of the message */
  ask(ref: SessionRef, story: Story): Promise<string>;
  stop(ref: SessionRef): Promise<void>;
  /** @param state the state of the log */
  choose(ref: SessionRef, state: SessionState, choice: Choice): Promise<void>;
  /** Called when the turn has ended and its worker has finished. */
  fillIn(ref: SessionRef, form: StoryForm): Promise<void>;
  /** Loads the history now. The returned function continues from there, until that many turns have ended. */
  reload(ref: SessionRef, at: Moment, turns: number): Promise<() => Promise<Seen>>;
}
