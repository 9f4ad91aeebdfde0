/**
 * `SafeImage` shows an image from an untrusted address: immediately from allowed hosts, after a click from all others.
 * Invariant: the address passes `checkImage`, and nothing is requested from other hosts before the click. A click
 * applies to one address only. The request has no referrer. A blocked address shows only its text.
 */
import { useState } from "react";
import { useThreadContext } from "../context.ts";
import { checkImage } from "../link-policy.ts";
import { visibleText } from "../visible-text.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";
import { Button } from "./button.tsx";

export interface SafeImageProps {
  readonly address: string;
  readonly alt: string;
  /** In pixels, to reserve its space before it is loaded. */
  readonly width?: number;
  readonly height?: number;
}

export function SafeImage({ address, alt, width, height }: SafeImageProps) {
  const { linkPolicy } = useThreadContext();
  const strings = useCardStrings();
  // A streaming image changes its address, and a decision about one address doesn't apply to the next.
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
        <Button onClick={() => setWanted(address)}>{strings.cards.loadImage}</Button>
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
