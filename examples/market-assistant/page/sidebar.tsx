/** `Sidebar` shows the list of sessions next to the thread, or as a drawer on a narrow screen. */
import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "./icons.tsx";
import { SessionRow } from "./session-row.tsx";
import type { SessionList } from "./use-sessions.ts";
import type { PageStrings } from "./strings/strings.ts";

interface SidebarProps {
  readonly list: SessionList;
  readonly current: string | null;
  readonly strings: PageStrings;
  readonly isNarrow: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onNew: () => void;
  readonly onOpen: (id: string) => void;
  readonly onErased: (id: string) => void;
}

export function Sidebar(props: SidebarProps): ReactNode {
  const { list, current, strings, isNarrow, isOpen, onClose, onNew, onOpen, onErased } = props;
  const root = useRef<HTMLElement>(null);
  const isHidden = isNarrow && !isOpen;
  useEffect(() => {
    if (isNarrow && isOpen) root.current?.querySelector("button")?.focus();
  }, [isNarrow, isOpen]);
  // Empty sessions are listed only while they are open.
  const shown = list.sessions.filter(({ id, title }) => title !== null || id === current);
  return (
    <>
      {isNarrow && isOpen && <div className="ma-veil" onClick={onClose} aria-hidden="true" />}
      <aside
        className="ma-sidebar"
        ref={root}
        data-open={isOpen || undefined}
        inert={isHidden}
        aria-label={strings.sessions}
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
        <button type="button" className="ma-new" onClick={onNew}>
          <Icon name="plus" />
          {strings.newSession}
        </button>
        <nav aria-label={strings.sessions}>
          {list.isKnown && shown.length === 0 && <p className="ma-note">{strings.noSessions}</p>}
          <ul className="ma-rows">
            {shown.map((info) => (
              <SessionRow
                key={info.id}
                info={info}
                isCurrent={info.id === current}
                strings={strings}
                onOpen={() => onOpen(info.id)}
                onRename={(title) => void list.rename(info.id, title).catch(() => {})}
                onErase={() =>
                  void list.erase(info.id).then(
                    () => onErased(info.id),
                    () => {},
                  )
                }
              />
            ))}
          </ul>
        </nav>
        <p className="ma-note ma-foot">{strings.invented}</p>
      </aside>
    </>
  );
}
