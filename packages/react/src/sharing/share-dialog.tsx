/**
 * `ShareDialog` creates links to the session of the thread, and lists, copies and revokes them.
 * Invariant: nothing is shared before the user presses the button. A new link gets the focus, so that the next press
 * copies it. Changes are announced to screen readers.
 */
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { errorText } from "../error-text.ts";
import { useAction } from "../hooks/use-action.ts";
import { Modal } from "./modal.tsx";
import { ShareLink, type ShareNotice } from "./share-link.tsx";
import { type ShareLinks, type SharingCalls, useShareLinks } from "./use-share-links.ts";
import { useSharingStrings } from "./use-sharing-strings.ts";
import { Button } from "../ui/button.tsx";

export interface ShareDialogProps {
  readonly client: SharingCalls;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Returns the address of your page for a link, such as `https://chat.example.com/shared/${token}`. */
  readonly getLink: (token: string) => string;
}

const DAY_SECONDS = 24 * 60 * 60;
const EXPIRY_SECONDS = {
  day: DAY_SECONDS,
  week: 7 * DAY_SECONDS,
  month: 30 * DAY_SECONDS,
  never: null,
} as const;
type Expiry = keyof typeof EXPIRY_SECONDS;
const EXPIRIES = Object.keys(EXPIRY_SECONDS) as Expiry[];

/** Place it inside the `SessionProvider` of the session. */
export function ShareDialog({ isOpen, ...props }: ShareDialogProps): ReactNode {
  return isOpen ? <OpenShareDialog {...props} /> : null;
}

function OpenShareDialog({ client, onClose, getLink }: Omit<ShareDialogProps, "isOpen">): ReactNode {
  const sharing = useSharingStrings().sharing;
  const links = useShareLinks(client);
  // The name of a string instead of its text, because the language can change while it is shown.
  const [notice, setNotice] = useState<ShareNotice | null>(null);
  const [newLink, setNewLink] = useState<string | null>(null);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (newLink === null) return;
    const item = [...(body.current?.querySelectorAll<HTMLElement>("[data-share]") ?? [])].find(
      (element) => element.dataset["share"] === newLink,
    );
    item?.querySelector<HTMLElement>("[data-action=copy]")?.focus();
  }, [newLink]);
  return (
    <Modal title={sharing.title} onClose={onClose}>
      <div className="ts-share" ref={body}>
        <p className="ts-card-text">{sharing.explanation}</p>
        <NewLinkForm
          onCreate={async (expiresInSeconds) => {
            const { id } = await links.create(expiresInSeconds === null ? {} : { expiresInSeconds });
            setNewLink(id);
            setNotice("created");
          }}
        />
        <LinkList
          links={links}
          getLink={getLink}
          onNotice={setNotice}
          onRevoked={() => {
            setNotice("revoked");
            body.current?.querySelector<HTMLElement>("[data-action=create]")?.focus();
          }}
        />
        <p className="ts-sr" role="status">
          {notice === null ? "" : sharing[notice]}
        </p>
      </div>
    </Modal>
  );
}

interface NewLinkFormProps {
  /** @param expiresInSeconds null if the link does not expire */
  readonly onCreate: (expiresInSeconds: number | null) => Promise<void>;
}

function NewLinkForm({ onCreate }: NewLinkFormProps): ReactNode {
  const sharing = useSharingStrings().sharing;
  const select = useId();
  const [expiry, setExpiry] = useState<Expiry>("week");
  const { isBusy, problem, run } = useAction();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    run(() => onCreate(EXPIRY_SECONDS[expiry]));
  };
  return (
    <form className="ts-share-new" onSubmit={submit}>
      <label htmlFor={select}>{sharing.expiry}</label>
      <select
        id={select}
        className="ts-input"
        value={expiry}
        onChange={({ target }) => setExpiry(target.value as Expiry)}
      >
        {EXPIRIES.map((name) => (
          <option key={name} value={name}>
            {sharing.expiryChoices[name]}
          </option>
        ))}
      </select>
      <button type="submit" className="ts-button ts-primary" data-action="create" disabled={isBusy}>
        {sharing.create}
      </button>
      {problem !== null && (
        <p className="ts-card-problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

interface LinkListProps {
  readonly links: ShareLinks;
  readonly getLink: (token: string) => string;
  readonly onNotice: (notice: ShareNotice) => void;
  readonly onRevoked: () => void;
}

function LinkList({ links: list, getLink, onNotice, onRevoked }: LinkListProps): ReactNode {
  const strings = useSharingStrings();
  const { thread } = strings;
  const sharing = strings.sharing;
  const heading = useId();
  const { links, error, hasMore, load, revoke } = list;
  return (
    <section className="ts-share-list" aria-labelledby={heading}>
      <h3 id={heading}>{sharing.links}</h3>
      {links === null && error === null && <p className="ts-faint">{sharing.loading}</p>}
      {links?.length === 0 && <p className="ts-faint">{sharing.noLinks}</p>}
      <ul>
        {links?.map((link) => (
          <ShareLink
            key={link.id}
            link={link}
            url={getLink(link.token)}
            onNotice={onNotice}
            onRevoke={async () => {
              await revoke(link);
              onRevoked();
            }}
          />
        ))}
      </ul>
      {error !== null && (
        <p className="ts-card-problem" role="alert">
          {errorText(strings, error)}
        </p>
      )}
      {(hasMore || error !== null) && (
        <Button onClick={() => void load()}>{error === null ? sharing.moreLinks : thread.tryAgain}</Button>
      )}
    </section>
  );
}
