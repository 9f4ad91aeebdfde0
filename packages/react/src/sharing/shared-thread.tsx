/**
 * `SharedThread` is the page of a link: it shows a shared session to any reader, and continues it in a session of the
 * reader.
 * Invariant: reading needs no credentials and sends none. Nothing on the page changes the shared session. Forking runs
 * once, however often the button is pressed.
 */
import type { Client, ClientError, SessionInfo, SharedSession } from "@turnstream/client";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { errorText } from "../error-text.ts";
import { formatDate } from "../format.ts";
import { useAction } from "../hooks/use-action.ts";
import type { SessionProviderProps } from "../context.ts";
import { SessionProvider } from "../provider.tsx";
import { resolveSharingStrings, type SharingStrings } from "../strings/sharing.ts";
import { Thread } from "../thread/thread.tsx";
import { visibleText } from "../visible-text.ts";
import { useSharingStrings } from "./use-sharing-strings.ts";
import { Button } from "../ui/button.tsx";

export interface SharedThreadProps extends Omit<SessionProviderProps, "session" | "children" | "readOnly"> {
  readonly client: Pick<Client, "openShare" | "fork">;
  /** The token of the link, from the address of the page. */
  readonly token: string;
  /**
   * Called with the reader's own copy, to show it. Without it the page has no button to continue, for readers who can't
   * sign in.
   */
  readonly onContinue?: (session: SessionInfo) => void;
}

type Opened = { readonly shared: SharedSession } | { readonly error: unknown } | null;

export function SharedThread(props: SharedThreadProps): ReactNode {
  const { client, token, onContinue, ...provider } = props;
  const { theme } = provider;
  const strings = resolveSharingStrings(provider.strings);
  const [opened, setOpened] = useState<Opened>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setOpened(null);
    client.openShare(token).then(
      (shared) => isCurrent && setOpened({ shared }),
      (error: unknown) => isCurrent && setOpened({ error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [client, token, attempt]);
  const fork = useCallback(async () => onContinue?.(await client.fork(token)), [client, token, onContinue]);
  if (opened === null || "error" in opened)
    return (
      <div className="ts-root ts-shared-state" lang={strings.locale} data-theme={theme}>
        {opened === null ? (
          <p role="status">{strings.sharing.loading}</p>
        ) : (
          <OpenProblem {...opened} strings={strings} onRetry={() => setAttempt((n) => n + 1)} />
        )}
      </div>
    );
  const { shared } = opened;
  return (
    <SessionProvider {...provider} session={shared.session} readOnly>
      <div className="ts-root ts-shared" lang={strings.locale} data-theme={theme}>
        <SharedHead shared={shared} />
        <Thread composer={null} label={strings.sharing.shared} />
        {onContinue !== undefined && <ContinueBar onFork={fork} />}
      </div>
    </SessionProvider>
  );
}

interface OpenProblemProps {
  readonly error: unknown;
  readonly strings: SharingStrings;
  readonly onRetry: () => void;
}

function OpenProblem({ error, strings, onRetry }: OpenProblemProps): ReactNode {
  const { code, canRetry = false } = error as Partial<ClientError>;
  return (
    <>
      <p role="alert">{code === "NOT_FOUND" ? strings.sharing.notFound : errorText(strings, error)}</p>
      {canRetry && <Button onClick={onRetry}>{strings.thread.tryAgain}</Button>}
    </>
  );
}

function SharedHead({ shared: { title, createdAt } }: { readonly shared: SharedSession }): ReactNode {
  const strings = useSharingStrings();
  return (
    <header className="ts-shared-head">
      <h1>
        <bdi>{title === null || title === "" ? strings.sharing.shared : visibleText(title)}</bdi>
      </h1>
      <p className="ts-faint">{strings.sharing.sharedOn(formatDate(strings, createdAt))}</p>
    </header>
  );
}

function ContinueBar({ onFork }: { readonly onFork: () => Promise<void> }): ReactNode {
  const sharing = useSharingStrings().sharing;
  const { isBusy, problem, run } = useAction();
  return (
    <div className="ts-shared-bar">
      {problem !== null && (
        <p className="ts-card-problem" role="alert">
          {problem}
        </p>
      )}
      <Button
        className="ts-button ts-primary"
        data-action="continue"
        disabled={isBusy}
        onClick={() => run(onFork)}
      >
        {sharing.continueOwn}
      </Button>
    </div>
  );
}
