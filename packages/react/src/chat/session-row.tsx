/**
 * `SessionRow` is one session in the list: it opens the session, renames it in place, and deletes it after a second
 * press.
 * Invariant: the focus never gets lost. It moves into the form that a press opens, and back to the row afterwards. A
 * failed command leaves its form open, with the reason.
 */
import type { SessionInfo } from "@turnstream/client";
import {
  type FormEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from "react";
import { useCommand } from "../hooks/use-action.ts";
import type { ChatStrings } from "../strings/chat.ts";
import { visibleText } from "../visible-text.ts";
import { ChatIcon } from "./chat-icon.tsx";
import type { ClassNames } from "../components.ts";
import { markPart } from "../parts.tsx";
import { Button } from "../ui/button.tsx";

export interface SessionRowProps {
  readonly session: SessionInfo;
  readonly isCurrent: boolean;
  readonly strings: ChatStrings;
  readonly classNames: ClassNames | undefined;
  /** The URL that opens the session. Without it the row is a button. */
  readonly link: string | undefined;
  readonly onOpen: () => void;
  readonly onRename: (title: string) => Promise<void>;
  readonly onDelete: () => Promise<void>;
}

const MAX_TITLE_LENGTH = 200;

export function SessionRow(props: SessionRowProps): ReactNode {
  const { session, isCurrent, strings, onRename, onDelete } = props;
  const [form, setForm] = useState<"rename" | "delete" | null>(null);
  const row = useRef<HTMLLIElement>(null);
  const hadForm = useRef(false);
  useEffect(() => {
    // The row is focusable only after the render that removes the form.
    if (form === null && hadForm.current)
      row.current?.querySelector<HTMLElement>(".ts-session-open")?.focus();
    hadForm.current = form !== null;
  }, [form]);
  const close = (): void => setForm(null);
  const title = session.title === null ? strings.chat.untitled : visibleText(session.title);
  return (
    <li
      {...markPart(props.classNames, "session-row", "ts-session")}
      ref={row}
      data-current={isCurrent || undefined}
      data-session={session.id}
    >
      {form === null && <RowButtons {...props} title={title} onForm={setForm} />}
      {form === "rename" && (
        <RenameForm
          title={session.title ?? ""}
          strings={strings}
          onClose={close}
          onRename={async (next) => {
            await onRename(next);
            close();
          }}
        />
      )}
      {form === "delete" && (
        <DeleteForm title={title} strings={strings} onClose={close} onDelete={onDelete} />
      )}
    </li>
  );
}

interface RowButtonsProps extends SessionRowProps {
  readonly title: string;
  readonly onForm: (form: "rename" | "delete") => void;
}

function RowButtons({ title, isCurrent, strings, link, onOpen, onForm }: RowButtonsProps): ReactNode {
  const chat = strings.chat;
  const shared = {
    className: "ts-session-open",
    title,
    "aria-current": isCurrent ? ("page" as const) : undefined,
    // The direction of the title decides at which end it is shortened.
    dir: "auto",
    children: title,
  };
  const onLink = (event: MouseEvent): void => {
    // The browser handles a press that opens a tab or a window.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    onOpen();
  };
  return (
    <>
      {link === undefined ? (
        <Button {...shared} onClick={onOpen} />
      ) : (
        <a href={link} {...shared} onClick={onLink} />
      )}
      <Button
        className="ts-icon-button"
        data-action="rename"
        aria-label={chat.rename(title)}
        onClick={() => onForm("rename")}
      >
        <ChatIcon name="edit" />
      </Button>
      <Button
        className="ts-icon-button"
        data-action="delete"
        aria-label={chat.delete(title)}
        onClick={() => onForm("delete")}
      >
        <ChatIcon name="bin" />
      </Button>
    </>
  );
}

interface FormProps {
  readonly title: string;
  readonly strings: ChatStrings;
  readonly onClose: () => void;
}

function RenameForm({
  title,
  strings,
  onClose,
  onRename,
}: FormProps & { readonly onRename: (title: string) => Promise<void> }): ReactNode {
  const chat = strings.chat;
  const { isBusy, problem, run } = useCommand(strings);
  const [text, setText] = useState(title);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const next = text.trim();
    if (next === "" || next === title) onClose();
    else run(() => onRename(next));
  };
  return (
    <form className="ts-session-form" onSubmit={submit} onKeyDown={closeOnEscape(onClose)}>
      <input
        className="ts-input"
        aria-label={chat.newTitle}
        value={text}
        maxLength={MAX_TITLE_LENGTH}
        // Only when it is added, because the function is the same in every render.
        ref={selectText}
        onChange={({ target }) => setText(target.value)}
      />
      <FormButtons confirm={chat.save} cancel={chat.cancel} isBusy={isBusy} onClose={onClose} />
      <Problem text={problem} />
    </form>
  );
}

function DeleteForm({
  title,
  strings,
  onClose,
  onDelete,
}: FormProps & { readonly onDelete: () => Promise<void> }): ReactNode {
  const chat = strings.chat;
  const { isBusy, problem, run } = useCommand(strings);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    run(onDelete);
  };
  return (
    <form
      className="ts-session-form"
      aria-label={chat.delete(title)}
      onSubmit={submit}
      onKeyDown={closeOnEscape(onClose)}
    >
      <strong className="ts-session-name">
        <bdi>{title}</bdi>
      </strong>
      <span>{chat.deleteQuestion}</span>
      <FormButtons
        confirm={chat.deleteConfirm}
        cancel={chat.cancel}
        isBusy={isBusy}
        isDanger
        onClose={onClose}
      />
      <Problem text={problem} />
    </form>
  );
}

interface FormButtonsProps {
  readonly confirm: string;
  readonly cancel: string;
  readonly isBusy: boolean;
  readonly isDanger?: boolean;
  readonly onClose: () => void;
}

function FormButtons({ confirm, cancel, isBusy, isDanger = false, onClose }: FormButtonsProps): ReactNode {
  return (
    <span className="ts-row">
      <button
        type="submit"
        className={isDanger ? "ts-button ts-danger" : "ts-button ts-primary"}
        data-action="confirm"
        disabled={isBusy}
        ref={isDanger ? focus : undefined}
      >
        {confirm}
      </button>
      <Button disabled={isBusy} onClick={onClose}>
        {cancel}
      </Button>
    </span>
  );
}

function Problem({ text }: { readonly text: string | null }): ReactNode {
  return text === null ? null : (
    <p className="ts-card-problem" role="alert">
      {text}
    </p>
  );
}

const focus = (element: HTMLElement | null): void => element?.focus();
const selectText = (field: HTMLInputElement | null): void => {
  field?.focus();
  field?.select();
};

/** Escape of an input method ends its composition, and an outer drawer stays open. */
const closeOnEscape =
  (onClose: () => void) =>
  (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.stopPropagation();
    onClose();
  };
