/**
 * `createColoredCode` returns a component that draws code blocks in color, with highlight.js. Loaded as a chunk with the first code block.
 * Invariant: the code is plain text until its task runs, and one task colors one code block, so that the page handles
 * input between them. Coloring adds `span` elements with classes and changes no character: otherwise the code stays
 * plain.
 */
import core from "highlight.js/lib/core";
import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import type { PluginCodeProps } from "../content/markdown-plugin.ts";
import { renderMarkup } from "../content/render-markup.ts";
import { scheduleTask } from "../content/schedule-task.ts";
import { CodeBlock } from "../ui/code-block.tsx";
import { type LanguageLoaders, LANGUAGES, resolveAlias } from "./languages.ts";

/**
 * highlight.js compares the characters of a long line, or of many letters without punctuation between them, with each
 * other. Readable code has neither.
 */
const SLOW = /.{801}|[\w\s$.-]{301}/;

const ALLOWED = { tags: new Set(["span"]), attributes: new Set(["class"]) };

interface Colored {
  readonly text: string;
  readonly content: ReactNode;
}

export interface Highlighter {
  /** Loads a language. */
  readonly load: (language: string) => Promise<void>;
  /** Returns null if the code can't be colored, or would take long. The language must be loaded. */
  readonly color: (language: string, text: string) => ReactNode;
}

export function createHighlighter(own: LanguageLoaders): Highlighter {
  // An instance of its own, so that the app can use another configuration.
  const highlighter = core.newInstance();
  highlighter.configure({ classPrefix: "ts-hl-" });
  const resolve = (language: string): string =>
    Object.hasOwn(own, language) ? language : resolveAlias(language);
  return {
    async load(language) {
      const name = resolve(language);
      const loader = own[name] ?? LANGUAGES[name];
      if (loader === undefined || highlighter.getLanguage(name) !== undefined) return;
      highlighter.registerLanguage(name, (await loader()).default);
    },
    color(language, text) {
      if (SLOW.test(text)) return null;
      const { value, illegal } = highlighter.highlight(text, {
        language: resolve(language),
        ignoreIllegals: true,
      });
      return illegal ? null : renderMarkup(value, ALLOWED);
    },
  };
}

export function createColoredCode(own: LanguageLoaders): ComponentType<PluginCodeProps> {
  const highlighter = createHighlighter(own);
  return function ColoredCode({ language, text, name }: PluginCodeProps): ReactNode {
    const [colored, setColored] = useState<Colored | null>(null);
    useEffect(() => {
      let cancel = (): void => {};
      let isCurrent = true;
      const draw = async (): Promise<void> => {
        const known = language.toLowerCase();
        await highlighter.load(known);
        if (isCurrent)
          cancel = scheduleTask(() => setColored({ text, content: highlighter.color(known, text) }));
      };
      // If the language can't be loaded, the code stays plain.
      draw().catch(() => {});
      return () => {
        isCurrent = false;
        cancel();
      };
    }, [language, text]);
    const content = colored?.text === text ? colored.content : null;
    return (
      <CodeBlock language={language} text={text} {...(name !== undefined && { name })}>
        {content}
      </CodeBlock>
    );
  };
}
