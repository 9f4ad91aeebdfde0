/** `SessionRow` is one session in the list: it opens the session, renames it in place, and asks before it erases it. */
import type { SessionInfo } from "@turnstream/client";
import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { Icon } from "./icons.tsx";
import type { PageStrings } from "./strings/strings.ts";

interface SessionRowProps {
  readonly info: SessionInfo;
  readonly isCurrent: boolean;
  readonly strings: PageStrings;
  readonly onOpen: () => void;
  readonly onRename: (title: string) => void;
  readonly onErase: () => void;
}

export function SessionRow(props: SessionRowProps): ReactNode {
  const { info, isCurrent, strings, onOpen, onRename, onErase } = props;
  const [isRenaming, setRenaming] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const title = info.title ?? strings.untitled;
  if (isRenaming) {
    const done = (next: string | null): void => {
      setRenaming(false);
      if (next !== null && next.trim() !== "" && next.trim() !== title) onRename(next.trim());
    };
    return <TitleField title={title} label={strings.newTitle} onDone={done} />;
  }
  return (
    <li className="ma-row" data-current={isCurrent || undefined}>
      <button
        type="button"
        className="ma-row-open"
        aria-current={isCurrent ? "page" : undefined}
        title={title}
        onClick={onOpen}
      >
        {title}
      </button>
      <button
        type="button"
        className="ma-row-tool"
        aria-label={strings.rename(title)}
        onClick={() => setRenaming(true)}
      >
        <Icon name="edit" />
      </button>
      <button
        type="button"
        className="ma-row-tool"
        aria-label={strings.erase(title)}
        onClick={() => dialog.current?.showModal()}
      >
        <Icon name="bin" />
      </button>
      <dialog className="ma-dialog" ref={dialog} aria-label={strings.eraseQuestion(title)}>
        <h2>{strings.eraseQuestion(title)}</h2>
        <p>{strings.eraseHint}</p>
        <form method="dialog" className="ma-dialog-buttons">
          <button className="ts-button">{strings.cancel}</button>
          <button className="ts-button ma-danger" onClick={onErase}>
            {strings.eraseYes}
          </button>
        </form>
      </dialog>
    </li>
  );
}

interface TitleFieldProps {
  readonly title: string;
  readonly label: string;
  /** Null if the title is unchanged. */
  readonly onDone: (title: string | null) => void;
}

function TitleField({ title, label, onDone }: TitleFieldProps): ReactNode {
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") onDone(event.currentTarget.value);
    if (event.key === "Escape") onDone(null);
  };
  return (
    <li className="ma-row">
      <input
        className="ma-row-field"
        aria-label={label}
        defaultValue={title}
        maxLength={200}
        ref={(field) => field?.select()}
        onKeyDown={onKeyDown}
        onBlur={(event) => onDone(event.currentTarget.value)}
      />
    </li>
  );
}
