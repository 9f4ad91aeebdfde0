/** A picture that somebody else named: shown at once from hosts that a team has named, after a click from all others. */
import { useState } from "react";
import { useThreadContext } from "../context.ts";
import { checkImage } from "../link-policy.ts";
import { visibleText } from "../visible-text.ts";

export interface SafeImageProps {
  readonly address: string;
  readonly alt: string;
  /** In pixels, so that its place is kept before it is there. */
  readonly width?: number;
  readonly height?: number;
}

export function SafeImage({ address, alt, width, height }: SafeImageProps) {
  const { linkPolicy, strings } = useThreadContext();
  // A picture that streams has another address each time: what was said of one is not said of the next.
  const [wanted, setWanted] = useState<string | null>(null);
  const [failed, setFailed] = useState<string | null>(null);
  const link = checkImage(address, linkPolicy);
  if (link.may === "dead" || failed === address) {
    return (
      <span className="ts-image-gone">
        {alt === "" ? strings.cards.noImage : <bdi>{visibleText(alt)}</bdi>}
      </span>
    );
  }
  if (link.may === "ask" && wanted !== address) {
    return (
      <span className="ts-image-ask">
        <bdi>{visibleText(alt)}</bdi>
        <span className="ts-faint">{strings.cards.imageFrom(visibleText(link.to))}</span>
        <button type="button" className="ts-button" onClick={() => setWanted(address)}>
          {strings.cards.loadImage}
        </button>
      </span>
    );
  }
  return (
    <img
      className="ts-image"
      src={link.href}
      alt={alt}
      {...(width === undefined || height === undefined || width === 0 ? {} : { width, height })}
      loading="lazy"
      decoding="async"
      referrerPolicy="no-referrer"
      onError={() => setFailed(address)}
    />
  );
}
