/**
 * `ShareLink` shows one link with its dates, and copies or revokes it.
 * Invariant: revoking can't be undone, so it takes a second press. If the clipboard refuses, the link is selected, so
 * that the user can copy it.
 */
import type { ListedShare } from "@turnstream/client";
import { type ReactNode, useId, useRef, useState } from "react";
import { formatDate } from "../format.ts";
import { useAction } from "../hooks/use-action.ts";
import { Icon } from "../ui/icons.tsx";
import { useSharingStrings } from "./use-sharing-strings.ts";
import { Button } from "../ui/button.tsx";

/** The strings of `sharing` that are announced to screen readers. */
export type ShareNotice = "created" | "copied" | "copyFailed" | "revoked";

export interface ShareLinkProps {
  readonly link: ListedShare;
  readonly url: string;
  readonly onNotice: (notice: ShareNotice) => void;
  readonly onRevoke: () => Promise<void>;
}

export function ShareLink({ link, url, onNotice, onRevoke }: ShareLinkProps): ReactNode {
  const strings = useSharingStrings();
  const sharing = strings.sharing;
  const dates = useId();
  const [isConfirming, setConfirming] = useState(false);
  const { isBusy, problem, run } = useAction();
  return (
    <li className="ts-share-link" data-share={link.id}>
      <CopyField url={url} describedBy={dates} onNotice={onNotice} />
      <div className="ts-share-more">
        <span className="ts-faint" id={dates}>
          {sharing.createdOn(formatDate(strings, link.createdAt))}
          {" · "}
          {link.expiresAt === null
            ? sharing.neverExpires
            : sharing.expiresOn(formatDate(strings, link.expiresAt))}
        </span>
        {!isConfirming && (
          <Button
            className="ts-link"
            data-action="revoke"
            aria-describedby={dates}
            onClick={() => setConfirming(true)}
          >
            {sharing.revoke}
          </Button>
        )}
      </div>
      {isConfirming && (
        <div className="ts-share-confirm" role="group" aria-label={sharing.revoke}>
          <span>{sharing.revokeQuestion}</span>
          <span className="ts-row">
            <button
              type="button"
              className="ts-button ts-danger"
              data-action="revoke-confirm"
              disabled={isBusy}
              // The pressed button was removed, so the focus moves to its successor.
              ref={(button) => button?.focus()}
              onClick={() => run(onRevoke)}
            >
              {sharing.revokeConfirm}
            </button>
            <Button disabled={isBusy} onClick={() => setConfirming(false)}>
              {sharing.cancel}
            </Button>
          </span>
        </div>
      )}
      {problem !== null && (
        <p className="ts-card-problem" role="alert">
          {problem}
        </p>
      )}
    </li>
  );
}

interface CopyFieldProps {
  readonly url: string;
  readonly describedBy: string;
  readonly onNotice: (notice: ShareNotice) => void;
}

function CopyField({ url, describedBy, onNotice }: CopyFieldProps): ReactNode {
  const sharing = useSharingStrings().sharing;
  const field = useRef<HTMLInputElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(url);
      setCopied(true);
      onNotice("copied");
    } catch {
      // Pages without HTTPS, and users who refused, have no clipboard.
      field.current?.focus();
      field.current?.select();
      onNotice("copyFailed");
    }
  };
  return (
    <div className="ts-share-field">
      <input
        ref={field}
        className="ts-input"
        readOnly
        value={url}
        aria-label={sharing.link}
        aria-describedby={describedBy}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
      <Button data-action="copy" aria-describedby={describedBy} onClick={() => void copy()}>
        {isCopied && <Icon name="check" />}
        {isCopied ? sharing.copied : sharing.copy}
      </Button>
    </div>
  );
}
