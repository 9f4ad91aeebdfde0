/**
 * `createStaticSession` creates a session from recorded events, without a connection: for galleries, tests and server
 * rendering.
 * Invariant: its state changes only through `append`, `setView` and `send`. Commands are passed to `onCommand`.
 */
import { emptyState, type SessionEvent, foldAll, type SessionState } from "@turnstream/protocol";
import { type ConnectionView, INITIAL_CONNECTION } from "./transport/status.ts";
import type { PendingMessage, Session, SessionView } from "./session/session.ts";

interface StaticSessionOptions {
  readonly id?: string;
  /** The address of the gateway, from which its files load. @default "", the origin of the page */
  readonly gatewayUrl?: string;
  readonly state?: SessionState;
  readonly connection?: ConnectionView;
  /** Called for every command with its name. Its result is the reply. */
  readonly onCommand?: (name: string, args: readonly unknown[]) => unknown;
}

export interface StaticSession extends Session {
  /** Folds further events. */
  append(events: readonly SessionEvent[]): void;
  /** Replaces parts of the view. */
  setView(view: Partial<SessionView>): void;
}

export function createStaticSession(
  events: readonly SessionEvent[],
  options: StaticSessionOptions = {},
): StaticSession {
  const { onCommand = () => undefined } = options;
  const listeners = new Set<() => void>();
  const state = foldAll(events, options.state ?? emptyState);
  let view: SessionView = {
    state,
    connection: options.connection ?? { ...INITIAL_CONNECTION, phase: "live", channel: "websocket" },
    outbox: [],
    history: { hasMore: state.earlier > 0, isLoading: false, error: null },
    skewMs: 0,
    hasLostTurns: false,
  };
  const setView = (next: Partial<SessionView>): void => {
    view = { ...view, ...next };
    for (const listener of listeners) listener();
  };
  const command =
    <Answer>(name: string) =>
    async (...args: readonly unknown[]): Promise<Answer> =>
      (await onCommand(name, args)) as Answer;
  let sent = 0;
  return {
    id: options.id ?? (state.session || "recorded"),
    gatewayUrl: options.gatewayUrl ?? "",
    getSnapshot: () => view,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    append: (more) => setView({ state: foldAll(more, view.state) }),
    setView,
    send(message) {
      const id = `sent-${++sent}`;
      const { text, files = [] } = message;
      const pending: PendingMessage = {
        id,
        text,
        files,
        at: 0,
        status: "sending",
        error: null,
        isOwn: true,
      };
      setView({ outbox: [...view.outbox, pending] });
      return { id, done: command<void>("send")(message) };
    },
    resendMessage: (id) => void onCommand("resendMessage", [id]),
    cancelMessage: command("cancelMessage"),
    stop: command("stop"),
    retry: command("retry"),
    decideApproval: command("decideApproval"),
    answerQuestion: command("answerQuestion"),
    dismissQuestion: command("dismissQuestion"),
    submitForm: command("submitForm"),
    declineForm: command("declineForm"),
    cancelPayment: command("cancelPayment"),
    refreshPayment: command("refreshPayment"),
    listPayments: command("listPayments"),
    saveFormDraft: command("saveFormDraft"),
    loadFormDraft: async (formId) => ((await onCommand("loadFormDraft", [formId])) ?? null) as null,
    uploadFile: command("uploadFile"),
    loadDraft: async () => "",
    saveDraft: () => {},
    loadMore: command("loadMore"),
    refresh: command("refresh"),
  };
}
