/**
 * `Welcome` is what a session without messages shows: a greeting, and suggestions.
 * Invariant: a press on a suggestion fills the field of the composer and sends nothing. It never removes text of the
 * user.
 */
import type { ReactNode } from "react";
import { usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { useComposerStore } from "../hooks/stores.ts";
import { Button } from "../ui/button.tsx";

export interface WelcomeProps {
  /** @default a greeting */
  readonly welcome?: ReactNode;
  readonly suggestions?: readonly string[] | undefined;
}

export function Welcome({ welcome, suggestions = [] }: WelcomeProps): ReactNode {
  const strings = useStrings();
  const composer = useComposerStore();
  const { thread } = strings;
  const suggestion = usePart("suggestion", "ts-suggestion");
  const fill = (added: string): void => {
    const { text } = composer.get();
    const isOwnText = text.trim() !== "" && !suggestions.includes(text);
    composer.set({ text: isOwnText ? `${text}\n${added}` : added });
    composer.focus();
  };
  return (
    <div {...usePart("welcome", "ts-welcome")}>
      {welcome ?? <h3>{thread.welcome}</h3>}
      {suggestions.length > 0 && (
        <ul aria-label={thread.suggestions}>
          {suggestions.map((one) => (
            <li key={one}>
              <Button {...suggestion} onClick={() => fill(one)}>
                {one}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
