/**
 * `WrittenTurn` is one session with a running turn: its text is streamed through a `Writer`, archived in part,
 * interrupted by the loss of the log, and completed by a takeover. Does not read as a client does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { listBlocks, findTurn } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { type SessionHistory, type Backend, readHistory, type SessionRef } from "@turnstream/server";
import { archiveSession, type Claimed, claimSession, Writer } from "@turnstream/server/internal";
import { isLogError } from "@turnstream/server/ports";

const TURN = "t1";
const RUN = { turn: TURN, run: "main" };

export class WrittenTurn {
  readonly #backend: Backend;
  readonly #ref: SessionRef;
  #writer: Writer | null = null;
  /** The text written before the loss, and after it. */
  before = "";
  after = "";

  constructor(backend: Backend, ref: SessionRef) {
    this.#backend = backend;
    this.#ref = ref;
  }

  /** Claims the session and starts a turn whose first events are archived. */
  async begin(): Promise<void> {
    await this.#claim({ type: "session.start", session: this.#ref.session, number: 1 });
    await this.#write(
      {
        type: "turn.start",
        turn: TURN,
        number: 1,
        message_number: 0,
        agent: "a",
        mode: "agent",
        from_share: false,
      },
      { type: "run.start", ...RUN, agent: "a" },
      { type: "text.start", ...RUN, block: "b0", index: 0, part: false },
    );
    await archiveSession(this.#backend, this.#ref);
  }

  /** Streams until the log refuses. @returns true if it refused because it is unclaimed */
  async stream(archiveAfterMs: number): Promise<boolean> {
    const started = performance.now();
    let isArchived = false;
    try {
      for (let n = 1; ; n++) {
        const word = `${n};`;
        await this.#write({ type: "text.delta", ...RUN, block: "b0", index: 0, text: word });
        this.before += word;
        if (!isArchived && performance.now() - started > archiveAfterMs) {
          isArchived = true;
          await archiveSession(this.#backend, this.#ref);
        }
        await sleep(3);
      }
    } catch (error) {
      if (!isLogError(error)) throw error;
      return error.code === "UNCLAIMED";
    }
  }

  /** Reads the history that is left without the log. */
  history(): Promise<SessionHistory> {
    return readHistory(this.#backend, this.#ref);
  }

  /** Continues from the history: supersedes incomplete blocks and writes the turn to its end. */
  async takeOver({ state }: SessionHistory): Promise<void> {
    const turn = findTurn(state, TURN);
    if (turn === undefined) throw new Error("the turn is not in the history");
    const blocks = listBlocks(turn)
      .filter((block) => block.end === null)
      .map(({ id }) => id);
    await this.#claim({ type: "turn.takeover", turn: TURN, blocks, groups: [], runs: [] });
    const block = { ...RUN, block: "b1", index: turn.items.length };
    await this.#write({ type: "text.start", ...block, part: false });
    for (let n = 1; n <= 20; n++) {
      await this.#write({ type: "text.delta", ...block, text: `again ${n};` });
      this.after += `again ${n};`;
      if (n === 10) await archiveSession(this.#backend, this.#ref);
    }
    await this.#write(
      { type: "text.end", ...block, final: true },
      { type: "run.end", ...RUN, status: "completed" },
      { type: "turn.end", turn: TURN, reason: "end_turn", duration_ms: 1 },
    );
  }

  /** @returns true if a history without the log contains a prefix of the written text */
  isStart({ state }: SessionHistory): boolean {
    const turn = findTurn(state, TURN);
    const [block] = turn === undefined ? [] : listBlocks(turn);
    return block?.kind === "text" && this.before.startsWith(block.text);
  }

  /** @returns true if the turn has ended well, with all text written after the loss and no incomplete blocks */
  isWhole({ state }: SessionHistory): boolean {
    const turn = findTurn(state, TURN);
    const texts =
      turn === undefined ? [] : listBlocks(turn).map((block) => (block.kind === "text" ? block.text : ""));
    return turn?.status === "end_turn" && turn.open === 0 && texts.join("") === this.after;
  }

  async #claim(event: EventDraft): Promise<void> {
    const { log } = this.#backend;
    const claimed: Claimed = await claimSession(this.#backend, this.#ref, {
      by: "worker",
      reason: "chaos",
      event,
    });
    this.#writer = new Writer({
      log,
      ref: this.#ref,
      writer: claimed.writer,
      epoch: claimed.epoch,
      blobs: { put: () => Promise.reject(new Error("nothing here is large")) },
      newBlobId: () => "none",
      batchDelayMs: 1,
    });
  }

  async #write(...drafts: readonly EventDraft[]): Promise<void> {
    for (const draft of drafts) await this.#writer?.write(draft);
    await this.#writer?.flush();
  }
}
