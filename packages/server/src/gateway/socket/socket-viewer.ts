/** A session as a socket sees it: tells the client how its subscription began, and when it ends though nobody asked. */
import type { SocketReply } from "@turnstream/protocol/schema";
import type { SubscriptionEnd, Told, Viewer } from "../feeds.ts";
import type { Outlet } from "../outlet.ts";

/** What a viewer needs of its socket. */
export interface SocketSide {
  readonly outlet: Outlet;
  reply(reply: SocketReply): void;
  /** It is over, and not by the client's wish. */
  forget(viewer: SocketViewer): void;
}

export class SocketViewer implements Viewer {
  readonly session: string;
  readonly #side: SocketSide;
  /** Told once: what begins anew later, begins by itself. */
  #request: string | undefined;

  constructor(side: SocketSide, session: string, request: string | undefined) {
    this.#side = side;
    this.session = session;
    this.#request = request;
  }

  get outlet(): Outlet {
    return this.#side.outlet;
  }

  told(told: Told): void {
    const request = this.#request === undefined ? {} : { request_id: this.#request };
    this.#request = undefined;
    this.#side.reply({ type: "subscribed", ...request, session_id: this.session, ...told });
  }

  ended(reason: SubscriptionEnd): void {
    this.#side.forget(this);
    if (reason === "over") return;
    const request = this.#request === undefined ? {} : { request_id: this.#request };
    this.#side.reply({ type: "unsubscribed", ...request, session_id: this.session, reason });
  }
}
