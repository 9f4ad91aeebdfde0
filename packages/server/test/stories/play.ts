/**
 * Plays a story on a stage that has its agents: asks, follows the log to the end of the turn, opens the gates of the story,
 * stops the turn and reloads clients when it says so. Every event is held to the rules as it comes.
 */
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Choice, Moment, Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import {
  emptyState,
  type Event,
  findRun,
  fold,
  foldQuiet,
  legal,
  type SessionState,
  START_CURSOR,
  trackQuiet,
} from "@turnstream/protocol";
import { blocks, type History, historyOf } from "@turnstream/protocol/blocks";
import { readEvent } from "@turnstream/protocol/schema";
import { answerQuestion } from "../../src/session/answer.ts";
import { decideApproval } from "../../src/session/decide.ts";
import { readFormDraft, saveFormDraft } from "../../src/session/form-drafts.ts";
import { declineForm, FormError, submitForm } from "../../src/session/forms.ts";
import { readHistory } from "../../src/session/history.ts";
import { sendMessage } from "../../src/session/send.ts";
import type { Ref } from "../../src/store/refs.ts";
import type { Stage } from "../runtime/stage.ts";
import type { Gates } from "./cast.ts";

interface Reload {
  readonly at: Moment;
  readonly history: History;
  readonly client: BlocksClient;
}

export interface Played {
  readonly ref: Ref;
  /** As they came from the log, live. */
  readonly events: readonly Event[];
  readonly state: SessionState;
  readonly reloads: readonly Reload[];
}

const PATIENCE_MS = 15_000;

/** @param served where a file of the story is found */
export async function play(
  stage: Stage,
  story: Story,
  gates: Gates,
  served: (url: string) => string,
): Promise<Played> {
  const ref = await stage.session();
  const events: Event[] = [];
  const reloads: Promise<Reload>[] = [];
  const due = new Set<Moment>([...story.reloadAt, ...(story.stopAt === undefined ? [] : [story.stopAt])]);
  const turns = story.form === undefined ? 1 : 2;
  let state = emptyState;
  const asked = ask(stage, ref, story, served);
  for await (const event of eventsAfter(stage, ref, START_CURSOR)) {
    check(state, event);
    state = fold(state, event);
    events.push(event);
    const moment = momentOf(state, event);
    if (moment !== null && due.delete(moment)) {
      if (story.reloadAt.includes(moment))
        reloads.push(goOn(stage, ref, await load(stage, ref, moment), turns));
      if (story.stopAt === moment) await stage.stop(ref);
    }
    const choice = moment === null ? undefined : story.choices?.[moment];
    if (choice !== undefined) await choose(stage, ref, state, choice);
    if (moment !== null) gates.open(moment);
    if (event.type !== "turn.end") continue;
    if (story.form === undefined || state.turns.length > 1) break;
    await fillIn(stage, ref, story.form);
  }
  const message = await asked;
  await stage.ended(ref, (turn) => turn.message?.id === message);
  await stage.ended(ref, (turn) => turn.id === state.turns.last()?.id);
  return { ref, events, state, reloads: await Promise.all(reloads) };
}

async function ask(
  { parts, actor }: Stage,
  ref: Ref,
  { ask: text, agent, files = [] }: Story,
  served: (url: string) => string,
): Promise<string> {
  const id = `m-${randomUUID()}`;
  const named = files.map(({ url }) => ({ url: served(url) }));
  const options = { agent: agent.name };
  await sendMessage(parts, ref, { id, text, by: actor.user, options, files: named });
  return id;
}

/** As whoever has just loaded the page does it: by what history says is pending. A request is told before it is committed. */
async function choose(stage: Stage, ref: Ref, state: SessionState, choice: Choice): Promise<void> {
  const key = historyOf(state).pending_approval?.["approval_key"] as string;
  const wish = { key, by: stage.actor.user };
  const { store } = stage.parts;
  await stage.until(ref, PATIENCE_MS, () => store.interactions.byKey(ref, key));
  const { won } =
    "answers" in choice
      ? await answerQuestion(stage.parts, ref, { ...wish, ...choice })
      : await decideApproval(stage.parts, ref, { ...wish, ...choice });
  if (!won) throw new Error(`${key} was decided by somebody else`);
}

/** A reload shows the form and what was filled in so far; then the person makes up their mind. */
async function fillIn(stage: Stage, ref: Ref, { draft, bad, finally: then }: StoryForm): Promise<void> {
  const { parts, actor } = stage;
  await stage.ended(ref, () => true);
  const { state } = await readHistory(parts, ref);
  const history = historyOf(state);
  const [asked] = history.pending;
  const form = String(asked?.["form_request_id"]);
  await saveFormDraft(parts, ref, { form, values: draft });
  const kept = await readFormDraft(parts, ref, form);
  const shown = { status: history.agent_status, asked: asked?.type, draft: kept?.values };
  if (!isDeepStrictEqual(shown, { status: "idle", asked: "form_request", draft }))
    throw new Error(`a reload shows ${JSON.stringify(shown)}`);
  const by = actor.user;
  const refused = await submitForm(parts, ref, { form, values: bad, by }).catch((error: unknown) => error);
  if (!(refused instanceof FormError)) throw new Error("the bad values were taken");
  if ("decline" in then) await declineForm(parts, ref, { form, by, reason: then.decline });
  else {
    await submitForm(parts, ref, { form, values: then.submit, by, goOn: false });
    const options = { agent: state.turns.last()?.agent ?? "" };
    await sendMessage(parts, ref, { id: `${form}-next`, text: then.message, resumes: form, by, options });
  }
  if ((await readFormDraft(parts, ref, form)) !== null) throw new Error("the draft is still there");
}

/** What is in the log after a cursor, and what comes, until nobody wants more. */
async function* eventsAfter({ parts }: Stage, { session }: Ref, after: string): AsyncGenerator<Event> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  for await (const delivery of parts.log.attach(session, { after, signal })) {
    if (delivery.type === "end") throw new Error(`the log ended: ${delivery.reason}`);
    for (const { event } of delivery.entries) yield event;
  }
  throw new Error(`the turn has not ended within ${PATIENCE_MS} ms`);
}

function check(state: SessionState, event: Event): void {
  const read = readEvent(event);
  const wrong = legal(state, event);
  if (!read.ok) throw new Error(`${event.type}: ${read.message}`);
  if (wrong !== null) throw new Error(`${wrong.rule} ${wrong.message}: ${JSON.stringify(event)}`);
}

function momentOf(state: SessionState, event: Event): Moment | null {
  const turn = state.turns.last();
  if (turn === undefined || !("block" in event)) return null;
  const block = turn.items.at(event.index);
  const of = block !== undefined && block !== null && "call" in block ? block.call : null;
  return `${event.type} ${of ?? findRun(turn, event.run)?.call ?? "main"}`;
}

interface Loaded {
  readonly at: Moment;
  readonly quiet: SessionState;
}

/** What a client finds that comes now: everything up to where all that is shown is whole. */
async function load(stage: Stage, ref: Ref, at: Moment): Promise<Loaded> {
  let track = trackQuiet(emptyState);
  for (const event of await stage.events(ref)) track = foldQuiet(track, event);
  return { at, quiet: track.quiet ?? emptyState };
}

/** As 004 says: history, then the stream after its `last_event_id`, into the same client. */
async function goOn(stage: Stage, ref: Ref, { at, quiet }: Loaded, turns: number): Promise<Reload> {
  const history = JSON.parse(JSON.stringify(historyOf(quiet))) as History;
  const client = new BlocksClient();
  client.load(history);
  let encoder = blocks.attach(quiet);
  for await (const event of eventsAfter(stage, ref, history.last_event_id)) {
    const step = blocks.encode(encoder, event);
    encoder = step.encoder;
    for (const frame of step.frames) client.handle({ ...frame });
    if (event.type === "turn.end" && encoder.turns.length === turns) break;
  }
  return { at, history, client };
}
