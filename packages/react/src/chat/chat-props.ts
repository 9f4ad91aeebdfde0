/**
 * `ChatProps` are the props of `Chat`. Types only.
 * Invariant: every prop is optional, so `<Chat />` alone is a working chat on the origin of the gateway.
 */
import type { Client } from "@turnstream/client";
import type { ReactNode } from "react";
import type { ComposerProps } from "../components.ts";
import type { SessionProviderProps } from "../provider.tsx";

export interface ChatProps extends Omit<SessionProviderProps, "session" | "children" | "readOnly"> {
  /**
   * The client. Keep it stable between renders.
   * @default one client for the origin of the page, whose users the gateway signs in
   */
  readonly client?: Client;
  /** The name of the agent that answers. @default the user chooses, if the server has several */
  readonly agent?: string;
  /** Messages that a new session offers. A press fills the field of the composer. */
  readonly suggestions?: readonly string[];
  /** Shown above the suggestions of a new session. @default a greeting */
  readonly welcome?: ReactNode;
  /** The props of the composer. */
  readonly composer?: ComposerProps;
  /** The name of the query parameter with the id of the open session. False keeps it out of the URL. @default "session" */
  readonly route?: string | false;
  /** Shown to a user who is signed out, such as a link to your sign-in page. */
  readonly signedOut?: ReactNode;
}
