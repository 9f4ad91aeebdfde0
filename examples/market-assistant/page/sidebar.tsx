/** `Sidebar` shows the list of sessions next to the thread, or as a drawer on a narrow screen. */
import { SessionList, type SessionListProps } from "@turnstream/react/chat";
import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "./icons.tsx";
import type { Language } from "./languages.ts";

interface SidebarProps extends Omit<SessionListProps, "strings"> {
  readonly language: Language;
  readonly isNarrow: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function Sidebar({ language, isNarrow, isOpen, onClose, ...list }: SidebarProps): ReactNode {
  const { strings, thread } = language;
  const root = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isNarrow && isOpen) root.current?.querySelector("button")?.focus();
  }, [isNarrow, isOpen]);
  return (
    <>
      {isNarrow && isOpen && <div className="ma-veil" onClick={onClose} aria-hidden="true" />}
      <aside
        className="ma-sidebar"
        ref={root}
        data-open={isOpen || undefined}
        inert={isNarrow && !isOpen}
        aria-label={strings.name}
        onKeyDown={(event) => {
          if (isNarrow && event.key === "Escape") onClose();
        }}
      >
        <div className="ma-brand">
          <span className="ma-mark" aria-hidden="true" />
          <strong>{strings.name}</strong>
          {isNarrow && (
            <button type="button" className="ma-icon-button" aria-label={strings.closeMenu} onClick={onClose}>
              <Icon name="close" />
            </button>
          )}
        </div>
        <SessionList {...list} strings={thread} />
        <p className="ma-note ma-foot">{strings.invented}</p>
      </aside>
    </>
  );
}
