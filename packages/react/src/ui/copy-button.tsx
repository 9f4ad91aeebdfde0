/** A button that copies a text, and says for a moment that it did. */
import { useEffect, useState } from "react";
import { useShared } from "../context.ts";

const SAID_FOR_MS = 2_000;

export function CopyButton({ text }: { readonly text: string }) {
  const { strings } = useShared();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SAID_FOR_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (): void => {
    // Refused where the page may not, or isn't served safely: nothing is said then.
    navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => {},
    );
  };
  return (
    <button type="button" className="ts-quiet-button" onClick={copy}>
      {copied ? strings.cards.copied : strings.cards.copy}
    </button>
  );
}
