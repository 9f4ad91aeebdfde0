/**
 * `lazyPart` renders a component that is loaded later.
 * Invariant: it renders nothing until the component is loaded, and a notice with a retry if the load failed. So an
 * approval is never missing without a word.
 */
import { type ComponentType, useContext, useEffect, useSyncExternalStore } from "react";
import { ThreadReactContext } from "./context.ts";
import type { LazyParts } from "./lazy-parts.ts";
import { resolveStrings, type StringChanges } from "./strings/extend-strings.ts";
import type { Strings } from "./strings/strings.ts";
import { RetryNotice } from "./ui/retry-notice.tsx";

/** The props of a part outside of a thread. */
interface OwnLook {
  readonly strings?: StringChanges<Strings>;
  readonly theme?: string;
}

const isFalse = (): boolean => false;

/**
 * Returns a component that renders one of the lazy parts.
 * @param isOptional true for a part without which the page still works: a failed load shows no notice
 */
export function lazyPart<Parts, Props extends object>(
  lazyParts: LazyParts<Parts>,
  pick: (parts: Parts) => ComponentType<Props>,
  isOptional = false,
): ComponentType<Props> {
  const { load, subscribe } = lazyParts;
  return function LazyPart(props: Props) {
    const thread = useContext(ThreadReactContext);
    const parts = useSyncExternalStore(subscribe, lazyParts.get, lazyParts.getForHydration);
    const hasFailed = useSyncExternalStore(subscribe, lazyParts.hasFailed, isFalse);
    useEffect(() => void load(), []);
    if (parts !== null) {
      const Part = pick(parts);
      return <Part {...props} />;
    }
    if (!hasFailed || isOptional) return null;
    const own: OwnLook = props;
    const strings = thread?.strings ?? resolveStrings(own.strings);
    const notice = (
      <RetryNotice strings={strings} text={strings.thread.loadFailed} onRetry={() => void load()} />
    );
    if (thread !== null) return notice;
    return (
      <div className="ts-root" lang={strings.locale} data-theme={own.theme}>
        {notice}
      </div>
    );
  };
}
