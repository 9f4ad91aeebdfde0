/**
 * A turn that is over, told from the archive to one who has a stream to himself: a page at a time, each in a piece of its own
 * and only once the one before has left. Reads only; never looks at the log.
 */
import { type Event, fold, parseCursor, Sequence, type SessionState } from "@turnstream/protocol";
import { blobAddresses } from "../../session/blobs/blob-url.ts";
import type { Ref } from "../../store/refs.ts";
import type { Choice } from "../encoding/stream-format.ts";
import { bytesOf, framesOfEvent, type Telling, tellingOf, textOfFrame } from "../encoding/encode.ts";
import type { TurnEnded } from "../subscription/types.ts";
import type { GatewayParts } from "../http/route.ts";
import { type Standing, standingAt } from "../subscription/replay-page.ts";

const PAGE = 200;
const PIECE_LENGTH = 128 * 1024;

export interface ArchivedTurn {
  readonly ref: Ref;
  readonly choice: Choice;
  readonly ended: TurnEnded;
}

/**
 * @param give takes the bytes of some frames; false when nobody wants more
 * @returns whether anything was told
 */
export async function tellArchivedTurn(
  { store, slices, blobBase, secrets, env }: GatewayParts,
  { ref, choice, ended }: ArchivedTurn,
  give: (bytes: Uint8Array) => Promise<boolean>,
): Promise<boolean> {
  const base = blobAddresses(ref, { base: blobBase, secret: secrets[0], now: env.now() });
  const telling = tellingOf(choice, ref.session, base);
  const { id, start } = ended.turn;
  let standing: Standing | null = null;
  let isTold = false;
  for (let after = start - 1; ;) {
    const page = await store.archive.events(ref, { after, limit: PAGE });
    const end = page.findIndex((event) => event.type === "turn.end" && event.turn === id);
    const events = end < 0 ? page : page.slice(0, end + 1);
    for (let n = 0; n < events.length;) {
      const from: Standing = standing ?? standingAt(telling, before(ended.state, events));
      const piece = await slices.run(() => pieceOf(telling, from, events, n));
      if (piece.bytes !== null) {
        isTold = true;
        if (!(await give(piece.bytes))) return true;
      }
      n = piece.next;
      standing = piece.standing;
    }
    const last = parseCursor(page.at(-1)?.id);
    if (end >= 0 || last === null) return isTold;
    after = last.seq;
  }
}

/** The session right before these events, as far as they need it. */
function before(state: SessionState, [first]: readonly Event[]): SessionState {
  const at = parseCursor(first?.id);
  if (at === null) return state;
  return { ...state, turns: Sequence.empty(), epoch: at.epoch, seq: (first?.first ?? at.seq) - 1 };
}

interface Piece {
  readonly bytes: Uint8Array | null;
  readonly standing: Standing;
  readonly next: number;
}

function pieceOf(telling: Telling, from: Standing, events: readonly Event[], start: number): Piece {
  const texts: string[] = [];
  let { state, remembered } = from;
  let next = start;
  for (let length = 0; next < events.length && length < PIECE_LENGTH; next++) {
    const event = events[next] as Event;
    const after = fold(state, event);
    const encoded = framesOfEvent(telling.choice, remembered, event, state, after);
    for (const frame of encoded.frames) {
      const text = textOfFrame(telling, frame);
      texts.push(text);
      length += text.length;
    }
    [state, remembered] = [after, encoded.remembered];
  }
  return { bytes: bytesOf(telling, texts), standing: { state, remembered }, next };
}
