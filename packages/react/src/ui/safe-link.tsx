/**
 * `SafeLink` shows a link with an untrusted address. Allowed hosts open immediately; for all others the user sees the
 * target first.
 * Invariant: before the confirmation the link is a button without an address, so that the browser can't prefetch it.
 */
import { type ReactNode, useId, useState } from "react";
import { useThreadContext } from "../context.ts";
import { checkLink } from "../link-policy.ts";
import { visibleText } from "../visible-text.ts";
import { useStrings } from "../hooks/use-strings.ts";
import { Button } from "./button.tsx";

export interface SafeLinkProps {
  readonly address: string;
  readonly children: ReactNode;
  readonly className?: string;
  /** The class of the text if the address can't be opened. */
  readonly plainClassName?: string;
}

export function SafeLink({ address, children, className = "ts-a", plainClassName }: SafeLinkProps) {
  const { linkPolicy } = useThreadContext();
  const strings = useStrings();
  const [isAsking, setAsking] = useState(false);
  const id = useId();
  const link = checkLink(address, linkPolicy);
  if (link.may === "dead") return <bdi className={plainClassName}>{children}</bdi>;
  const { href, to } = link;
  if (link.may === "open") {
    return (
      <ExternalLink href={href} className={className}>
        {children}
        <RealHost shown={children} to={to} />
      </ExternalLink>
    );
  }
  return (
    <>
      <Button
        className={className}
        aria-expanded={isAsking}
        aria-controls={isAsking ? id : undefined}
        onClick={() => setAsking(!isAsking)}
      >
        <bdi>{children}</bdi>
        <RealHost shown={children} to={to} />
      </Button>
      {isAsking && (
        <span
          className="ts-link-ask"
          id={id}
          role="group"
          aria-label={strings.cards.leavesFor(to)}
          onKeyDown={(event) => {
            if (event.key === "Escape") setAsking(false);
          }}
        >
          <span>
            {strings.cards.leavesFor("")}
            <bdi className="ts-link-host">{visibleText(to)}</bdi>
          </span>
          <bdi className="ts-link-address">{href}</bdi>
          <ExternalLink href={href} className="ts-button" onOpen={() => setAsking(false)}>
            {strings.cards.openLink}
          </ExternalLink>
          <Button onClick={() => setAsking(false)}>{strings.cards.cancel}</Button>
        </span>
      )}
    </>
  );
}

interface ExternalLinkProps {
  readonly href: string;
  readonly className: string;
  readonly children: ReactNode;
  readonly onOpen?: () => void;
}

/** Opens in a new tab without a referrer. `href` must have passed `checkLink`. */
export function ExternalLink({ href, className, children, onOpen }: ExternalLinkProps) {
  return (
    <a
      href={href}
      className={className}
      target="_blank"
      rel="noopener noreferrer nofollow"
      referrerPolicy="no-referrer"
      onClick={onOpen}
    >
      <bdi>{children}</bdi>
    </a>
  );
}

/** Shows the real host next to a text that looks like another address or contains invisible characters. */
function RealHost({ shown, to }: { readonly shown: ReactNode; readonly to: string }) {
  if (typeof shown !== "string" || !hidesRealHost(shown, to)) return null;
  return <span className="ts-link-host"> ({visibleText(to)})</span>;
}

function hidesRealHost(shown: string, to: string): boolean {
  if (visibleText(shown) !== shown) return true;
  const named = /^(?:https?:\/\/)?((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})/u.exec(shown.trim())?.[1];
  return named !== undefined && named.toLowerCase() !== to && `www.${named.toLowerCase()}` !== to;
}
