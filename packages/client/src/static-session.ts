/**
 * A session from recorded events: what galleries, tests and pages made on a server show without a connection. It stands
 * where it is put; commands go to whoever wants to hear of them.
 */
import { emptyState, type SessionEvent, foldAll, type SessionState } from "@turnstream/protocol";
import { type ConnectionView, NOT_CONNECTED } from "./transport/status.ts";
import type { Outgoing, Session, SessionView } from "./session/session.ts";

export interface RecordedOptions {
  readonly id?: string;
  readonly state?: SessionState;
  readonly connection?: ConnectionView;
  /** Hears of every command by its name, and gives its answer. */
  readonly onCommand?: (name: string, args: readonly unknown[]) => unknown;
}

export interface RecordedSession extends Session {
  /** Folds in what comes next. */
  append(events: readonly SessionEvent[]): void;
  /** Puts something else in place of what is shown. */
  show(view: Partial<SessionView>): void;
}

export function recordedSession(
  events: readonly SessionEvent[],
  options: RecordedOptions = {},
): RecordedSession {
  const { onCommand = () => undefined } = options;
  const listeners = new Set<() => void>();
  const state = foldAll(events, options.state ?? emptyState);
  let view: SessionView = {
    state,
    connection: options.connection ?? { ...NOT_CONNECTED, phase: "live", wire: "socket" },
    outbox: [],
    older: { hasMore: state.earlier > 0, isLoading: false, error: null },
    skewMs: 0,
  };
  const show = (next: Partial<SessionView>): void => {
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
    getSnapshot: () => view,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    append: (more) => show({ state: foldAll(more, view.state) }),
    show,
    send(message) {
      const id = `sent-${++sent}`;
      const { text, files = [] } = message;
      const outgoing: Outgoing = { id, text, files, at: 0, status: "sending", error: null, isOwn: true };
      show({ outbox: [...view.outbox, outgoing] });
      return { id, done: command<void>("send")(message) };
    },
    resend: (id) => void onCommand("resend", [id]),
    withdraw: command("withdraw"),
    stop: command("stop"),
    retry: command("retry"),
    decide: command("decide"),
    answer: command("answer"),
    dismiss: command("dismiss"),
    submit: command("submit"),
    decline: command("decline"),
    saveDraft: command("saveDraft"),
    loadDraft: async (form) => ((await onCommand("loadDraft", [form])) ?? null) as null,
    upload: command("upload"),
    loadOlder: command("loadOlder"),
    refresh: command("refresh"),
  };
}
