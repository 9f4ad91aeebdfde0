/**
 * `InProcessGateway` is a gateway inside the process of its client: it accepts the client, sends a snapshot, and then
 * delivers the frames that the bench passes in, as text. Everything above the socket is the real client: parsing,
 * order, folding and notifications. For benches in pages and in Node.
 */
import type { ClientOptions } from "@turnstream/client";
import { formatCursor, type SessionState, snapshot } from "@turnstream/protocol";

export class InProcessGateway {
  private socket: FedSocket | null = null;
  private readonly state: SessionState;

  constructor(state: SessionState) {
    this.state = state;
  }

  readonly env: NonNullable<ClientOptions["env"]> = {
    fetch: async () => Response.json({ ticket: "ticket", expires_in_seconds: 30, now: Date.now() }),
    WebSocket: this.socketClass() as unknown as typeof WebSocket,
    storage: null,
  };

  receive(frame: string): void {
    this.socket?.deliver(frame);
  }

  private socketClass(): new () => FedSocket {
    const open = (socket: FedSocket): void => void (this.socket = socket);
    const answer = (text: string): void => this.answer(text);
    return class extends FedSocket {
      constructor() {
        super(answer);
        open(this);
      }
    };
  }

  private answer(text: string): void {
    const { type, request_id, session_id } = JSON.parse(text) as Readonly<Record<string, string>>;
    if (type !== "subscribe") return;
    const head = formatCursor(this.state);
    const subscribed = { type: "subscribed", request_id, session_id, resumed: false, reason: "fresh", head };
    this.receive(JSON.stringify(subscribed));
    const snapshotFrame = { type: "snapshot", session_id, event_id: head, snapshot: snapshot(this.state) };
    this.receive(JSON.stringify(snapshotFrame));
  }
}

type Listener = (event: { readonly data?: string }) => void;

/**
 * The part of a WebSocket that the client uses. An event is one function call, so that the bench measures only the
 * client.
 */
class FedSocket {
  readonly OPEN = 1;
  readyState = 0;
  private readonly answer: (text: string) => void;
  private readonly listeners = new Map<string, Listener>();

  constructor(answer: (text: string) => void) {
    this.answer = answer;
    queueMicrotask(() => {
      this.readyState = this.OPEN;
      this.listeners.get("open")?.({});
    });
  }

  addEventListener(type: string, listener: Listener): void {
    this.listeners.set(type, listener);
  }

  deliver(data: string): void {
    this.listeners.get("message")?.({ data });
  }

  send(text: string): void {
    queueMicrotask(() => this.answer(text));
  }

  close(): void {
    this.readyState = 3;
  }
}
