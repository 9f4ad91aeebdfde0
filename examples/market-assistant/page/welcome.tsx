/** `Welcome` is what a new session shows above the suggestions: an introduction, and a suggestion that attaches a file. */
import { useComposer } from "@turnstream/react";
import type { ReactNode } from "react";
import { SAMPLE_NAMES, SAMPLE_STATEMENT } from "../shared/sample-statement.ts";
import { SUGGESTIONS } from "../shared/suggestions.ts";
import type { Language } from "./languages.ts";

export function Welcome({ language: { strings, locale } }: { readonly language: Language }): ReactNode {
  const { setText, attach, focus } = useComposer();
  const askAboutFile = (): void => {
    setText(SUGGESTIONS[locale].file);
    attach([new File([SAMPLE_STATEMENT], SAMPLE_NAMES[locale], { type: "text/csv" })]);
    focus();
  };
  return (
    <>
      <h3>{strings.name}</h3>
      <p className="ts-faint">{strings.tagline}</p>
      <button type="button" className="ts-suggestion ma-file" onClick={askAboutFile}>
        {SUGGESTIONS[locale].file}
      </button>
    </>
  );
}
