/** `StoryDriver` by function calls, without connections. It encodes the frames of clients itself. */
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Choice, Moment, Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import { emptyState, type SessionState } from "@turnstream/protocol";
import { foldWithHandoffPoint, trackHandoffPoint } from "@turnstream/protocol/writer";
import { blocks, type BlocksHistory, toHistory } from "@turnstream/protocol/blocks";
import { answerQuestion } from "../../src/session/interactions/answer-question.ts";
import { decideApproval } from "../../src/session/interactions/decide-approval.ts";
import { readFormDraft, saveFormDraft } from "../../src/session/interactions/form-drafts.ts";
import { declineForm, FormError, submitForm } from "../../src/session/interactions/submit-form.ts";
import { readHistory } from "../../src/session/history/read-history.ts";
import { sendMessage } from "../../src/session/messages/send.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import type { TurnHarness } from "../engine/turn-harness.ts";
import { eventsAfter, TIMEOUT_MS } from "./follow-log.ts";
import type { StoryDriver, Reload } from "./driver.ts";

export class InProcessDriver implements StoryDriver {
  readonly #stage: TurnHarness;
  readonly #served: (url: string) => string;

  /** @param served returns the address of a file of the story */
  constructor(harness: TurnHarness, served: (url: string) => string) {
    this.#stage = harness;
    this.#served = served;
  }

  async watch(): Promise<void> {}

  async ask(ref: SessionRef, { ask: text, agent, mode, files = [] }: Story): Promise<string> {
    const id = `m-${randomUUID()}`;
    const { backend, actor } = this.#stage;
    const named = files.map(({ url }) => ({ url: this.#served(url) }));
    const options = { agent: agent.name, ...(mode === undefined ? {} : { mode }) };
    await sendMessage(backend, ref, { id, text, userId: actor.user, options, files: named });
    return id;
  }

  async stop(ref: SessionRef): Promise<void> {
    await this.#stage.stop(ref);
  }

  /**
   * Decides like a client that has just loaded the page: by the pending interaction in history. The request event is
   * written before the commit, so wait for the row.
   */
  async choose(ref: SessionRef, state: SessionState, choice: Choice): Promise<void> {
    const harness = this.#stage;
    const key = toHistory(state).pending_approval?.["approval_key"] as string;
    const input = { key, userId: harness.actor.user };
    const { store } = harness.backend;
    await harness.until(ref, TIMEOUT_MS, () => store.interactions.byKey(ref, key));
    const { applied } =
      "answers" in choice
        ? await answerQuestion(harness.backend, ref, { ...input, ...choice })
        : await decideApproval(harness.backend, ref, { ...input, ...choice });
    if (!applied) throw new Error(`${key} is already decided`);
  }

  /** A reload shows the form and its draft. Then the user submits or declines it. */
  async fillIn(ref: SessionRef, { draft, bad, finally: then }: StoryForm): Promise<void> {
    const { backend, actor } = this.#stage;
    const { state } = await readHistory(backend, ref);
    const history = toHistory(state);
    const [asked] = history.pending;
    const form = String(asked?.["form_request_id"]);
    await saveFormDraft(backend, ref, { form, values: draft });
    const stored = await readFormDraft(backend, ref, form);
    const shown = { status: history.agent_status, asked: asked?.type, draft: stored?.values };
    if (!isDeepStrictEqual(shown, { status: "idle", asked: "form_request", draft }))
      throw new Error(`a reload shows ${JSON.stringify(shown)}`);
    const by = actor.user;
    const refused = await submitForm(backend, ref, { form, values: bad, userId: by }).catch(
      (error: unknown) => error,
    );
    if (!(refused instanceof FormError)) throw new Error("the invalid values were accepted");
    if ("decline" in then) await declineForm(backend, ref, { form, userId: by, reason: then.decline });
    else {
      await submitForm(backend, ref, { form, values: then.submit, userId: by, startNextTurn: false });
      const options = { agent: state.turns.last()?.agent ?? "" };
      await sendMessage(backend, ref, {
        id: `${form}-next`,
        text: then.message,
        resumes: form,
        userId: by,
        options,
      });
    }
    if ((await readFormDraft(backend, ref, form)) !== null) throw new Error("the draft is still there");
  }

  /**
   * Loads the history of a client that connects now: everything up to the handoff point. Then it continues as the
   * history rules of `blocks` require.
   */
  async reload(ref: SessionRef, at: Moment, turns: number): Promise<() => Promise<Reload>> {
    let track = trackHandoffPoint(emptyState);
    for (const event of await this.#stage.events(ref)) track = foldWithHandoffPoint(track, event);
    const handoff = track.handoff ?? emptyState;
    return () => this.#goOn(ref, at, handoff, turns);
  }

  /** Loads history and then the stream after its `last_event_id` into the same client, as `blocks` clients do. */
  async #goOn(ref: SessionRef, at: Moment, handoff: SessionState, turns: number): Promise<Reload> {
    const history = JSON.parse(JSON.stringify(toHistory(handoff))) as BlocksHistory;
    const client = new BlocksClient();
    client.load(history);
    let encoder = blocks.attach(handoff);
    for await (const event of eventsAfter(this.#stage, ref, history.last_event_id)) {
      const step = blocks.encode(encoder, event);
      encoder = step.encoder;
      for (const frame of step.frames) client.handle({ ...frame });
      if (event.type === "turn.end" && encoder.turns.length === turns) break;
    }
    return { at, history, client };
  }
}
