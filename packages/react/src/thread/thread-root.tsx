/**
 * `ThreadRoot` is the root element of the styles, and provides the components of a thread. `Thread` is such a root
 * itself. An app that shows single components without a thread puts them into one.
 */
import { type ReactNode, type RefObject, useMemo, useRef } from "react";
import { type ThreadParts, ThreadPartsContext, useThreadContext } from "../context.ts";
import { DEFAULT_COMPONENTS } from "../default-components.ts";
import { useStrings } from "../hooks/use-strings.ts";

export function ThreadRoot({ children }: { readonly children?: ReactNode }): ReactNode {
  const { parts, attributes } = useThreadRoot<HTMLDivElement>();
  return (
    <ThreadPartsContext.Provider value={parts}>
      <div className="ts-root ts-unboxed" {...attributes}>
        {children}
      </div>
    </ThreadPartsContext.Provider>
  );
}

interface Root<E> {
  readonly parts: ThreadParts;
  /** Of the root element. */
  readonly attributes: {
    readonly ref: RefObject<E | null>;
    readonly lang: string;
    readonly "data-theme": string | undefined;
  };
}

export function useThreadRoot<E extends HTMLElement>(): Root<E> {
  const { components, theme } = useThreadContext();
  const strings = useStrings();
  const root = useRef<E>(null);
  const parts = useMemo(() => ({ components: { ...DEFAULT_COMPONENTS, ...components }, root }), [components]);
  return { parts, attributes: { ref: root, lang: strings.locale, "data-theme": theme } };
}
