/**
 * Runs a story on a harness that has its agents: sends the message, follows the log to the end of the turn, opens the
 * gates, and stops or reloads when the story does. It checks every event against the rules. A driver performs the
 * user's actions.
 */
import type { Moment, Story } from "@turnstream/conformance/stories/story.ts";
import {
  emptyState,
  type SessionEvent,
  findRun,
  fold,
  type SessionState,
  START_CURSOR,
} from "@turnstream/protocol";
import { checkEvent } from "@turnstream/protocol/writer";
import { parseEvent } from "@turnstream/conformance/support/parse-event.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import type { TurnHarness } from "../engine/turn-harness.ts";
import type { Gates } from "./story-agents.ts";
import { eventsAfter } from "./follow-log.ts";
import type { StoryDriver, Reload } from "./driver.ts";

export interface PlayedStory<Seen = Reload> {
  readonly ref: SessionRef;
  /** The events in the order in which the log delivered them live. */
  readonly events: readonly SessionEvent[];
  readonly state: SessionState;
  readonly reloads: readonly Seen[];
}

export async function play<Seen = Reload>(
  harness: TurnHarness,
  story: Story,
  gates: Gates,
  driver: StoryDriver<Seen>,
): Promise<PlayedStory<Seen>> {
  const ref = await harness.session();
  const events: SessionEvent[] = [];
  const reloads: Promise<Seen>[] = [];
  const due = new Set<Moment>([...story.reloadAt, ...(story.stopAt === undefined ? [] : [story.stopAt])]);
  const turns = story.form === undefined ? 1 : 2;
  let state = emptyState;
  await driver.watch(ref, story);
  const asked = driver.ask(ref, story);
  for await (const event of eventsAfter(harness, ref, START_CURSOR, driver.timeoutMs)) {
    check(state, event);
    state = fold(state, event);
    events.push(event);
    const moment = momentOf(state, event);
    if (moment !== null && due.delete(moment)) {
      if (story.reloadAt.includes(moment)) {
        const finishReload = await driver.reload(ref, moment, turns);
        reloads.push(finishReload());
      }
      if (story.stopAt === moment) await driver.stop(ref);
    }
    const choice = moment === null ? undefined : story.choices?.[moment];
    if (choice !== undefined) await driver.choose(ref, state, choice);
    if (moment !== null) gates.open(moment);
    if (event.type !== "turn.end") continue;
    if (story.form === undefined || state.turns.length > 1) break;
    await harness.ended(ref, () => true);
    await driver.fillIn(ref, story.form);
  }
  const message = await asked;
  await harness.ended(ref, (turn) => turn.message?.id === message);
  await harness.ended(ref, (turn) => turn.id === state.turns.last()?.id);
  return { ref, events, state, reloads: await Promise.all(reloads) };
}

function check(state: SessionState, event: SessionEvent): void {
  const read = parseEvent(event);
  const wrong = checkEvent(state, event);
  if (!read.ok) throw new Error(`${event.type}: ${read.message}`);
  if (wrong !== null) throw new Error(`${wrong.rule} ${wrong.message}: ${JSON.stringify(event)}`);
}

function momentOf(state: SessionState, event: SessionEvent): Moment | null {
  const turn = state.turns.last();
  if (turn === undefined || !("block" in event)) return null;
  const block = turn.items.get(event.index);
  const of = block !== undefined && block !== null && "call" in block ? block.call : null;
  return `${event.type} ${of ?? findRun(turn, event.run)?.call ?? "main"}`;
}
