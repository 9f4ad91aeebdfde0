/** The person of a story by calls of our functions, without any connection. Encodes what clients would get itself. */
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Choice, Moment, Story, StoryForm } from "@turnstream/conformance/stories/story.ts";
import { emptyState, foldWithHandoffPoint, type SessionState, trackHandoffPoint } from "@turnstream/protocol";
import { blocks, type BlocksHistory, toHistory } from "@turnstream/protocol/blocks";
import { answerQuestion } from "../../src/session/interactions/answer-question.ts";
import { decideApproval } from "../../src/session/interactions/decide-approval.ts";
import { readFormDraft, saveFormDraft } from "../../src/session/interactions/form-drafts.ts";
import { declineForm, FormError, submitForm } from "../../src/session/interactions/submit-form.ts";
import { readHistory } from "../../src/session/history/read-history.ts";
import { sendMessage } from "../../src/session/messages/send.ts";
import type { SessionRef } from "../../src/store/refs.ts";
import type { Stage } from "../runtime/turn-harness.ts";
import { eventsAfter, PATIENCE_MS } from "./follow-log.ts";
import type { Hands, Reload } from "./driver.ts";

export class OwnHands implements Hands {
  readonly #stage: Stage;
  readonly #served: (url: string) => string;

  /** @param served where a file of the story is found */
  constructor(stage: Stage, served: (url: string) => string) {
    this.#stage = stage;
    this.#served = served;
  }

  async watch(): Promise<void> {}

  async ask(ref: SessionRef, { ask: text, agent, files = [] }: Story): Promise<string> {
    const id = `m-${randomUUID()}`;
    const { parts, actor } = this.#stage;
    const named = files.map(({ url }) => ({ url: this.#served(url) }));
    const options = { agent: agent.name };
    await sendMessage(parts, ref, { id, text, userId: actor.user, options, files: named });
    return id;
  }

  async stop(ref: SessionRef): Promise<void> {
    await this.#stage.stop(ref);
  }

  /** As whoever has just loaded the page does it: by what history says is pending. A request is told before it is committed. */
  async choose(ref: SessionRef, state: SessionState, choice: Choice): Promise<void> {
    const stage = this.#stage;
    const key = toHistory(state).pending_approval?.["approval_key"] as string;
    const wish = { key, by: stage.actor.user };
    const { store } = stage.parts;
    await stage.until(ref, PATIENCE_MS, () => store.interactions.byKey(ref, key));
    const { applied } =
      "answers" in choice
        ? await answerQuestion(stage.parts, ref, { ...wish, ...choice })
        : await decideApproval(stage.parts, ref, { ...wish, ...choice });
    if (!applied) throw new Error(`${key} was decided by somebody else`);
  }

  /** A reload shows the form and what was filled in so far; then the person makes up their mind. */
  async fillIn(ref: SessionRef, { draft, bad, finally: then }: StoryForm): Promise<void> {
    const { parts, actor } = this.#stage;
    const { state } = await readHistory(parts, ref);
    const history = toHistory(state);
    const [asked] = history.pending;
    const form = String(asked?.["form_request_id"]);
    await saveFormDraft(parts, ref, { form, values: draft });
    const kept = await readFormDraft(parts, ref, form);
    const shown = { status: history.agent_status, asked: asked?.type, draft: kept?.values };
    if (!isDeepStrictEqual(shown, { status: "idle", asked: "form_request", draft }))
      throw new Error(`a reload shows ${JSON.stringify(shown)}`);
    const by = actor.user;
    const refused = await submitForm(parts, ref, { form, values: bad, userId: by }).catch(
      (error: unknown) => error,
    );
    if (!(refused instanceof FormError)) throw new Error("the bad values were taken");
    if ("decline" in then) await declineForm(parts, ref, { form, userId: by, reason: then.decline });
    else {
      await submitForm(parts, ref, { form, values: then.submit, userId: by, goOn: false });
      const options = { agent: state.turns.last()?.agent ?? "" };
      await sendMessage(parts, ref, {
        id: `${form}-next`,
        text: then.message,
        resumes: form,
        userId: by,
        options,
      });
    }
    if ((await readFormDraft(parts, ref, form)) !== null) throw new Error("the draft is still there");
  }

  /** What a client finds that comes now: everything up to where all that is shown is whole. Then as 004 says. */
  async reload(ref: SessionRef, at: Moment, turns: number): Promise<() => Promise<Reload>> {
    let track = trackHandoffPoint(emptyState);
    for (const event of await this.#stage.events(ref)) track = foldWithHandoffPoint(track, event);
    const quiet = track.handoff ?? emptyState;
    return () => this.#goOn(ref, at, quiet, turns);
  }

  /** As 004 says: history, then the stream after its `last_event_id`, into the same client. */
  async #goOn(ref: SessionRef, at: Moment, quiet: SessionState, turns: number): Promise<Reload> {
    const history = JSON.parse(JSON.stringify(toHistory(quiet))) as BlocksHistory;
    const client = new BlocksClient();
    client.load(history);
    let encoder = blocks.attach(quiet);
    for await (const event of eventsAfter(this.#stage, ref, history.last_event_id)) {
      const step = blocks.encode(encoder, event);
      encoder = step.encoder;
      for (const frame of step.frames) client.handle({ ...frame });
      if (event.type === "turn.end" && encoder.turns.length === turns) break;
    }
    return { at, history, client };
  }
}
