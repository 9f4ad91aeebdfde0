/**
 * `Composer` is the input for messages. Enter sends and Shift+Enter inserts a line break. Files are added by button,
 * paste or drop. A running turn can be stopped, and a message sent meanwhile is queued.
 * Invariant: an Enter that confirms text of an input method neither sends nor breaks the line.
 */
import {
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { ComposerProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { useComposer } from "../hooks/use-composer.ts";
import { Icon } from "../ui/icons.tsx";
import { Slot, usePart } from "../parts.tsx";
import { lazyCards } from "../cards/lazy-cards.ts";
import { lazyPart } from "../lazy-parts.tsx";

const AttachmentList = lazyPart(lazyCards, (parts) => parts.AttachmentList);

/** The key code of a key that belongs to an input method, even if `isComposing` is already false. */
const IME_KEY_CODE = 229;

export function Composer({
  placeholder,
  isDisabled = false,
  accept = "*/*",
  agentId,
  mode,
}: ComposerProps): ReactNode {
  const threadStrings = useThreadContext().strings.thread;
  const field = useRef<HTMLTextAreaElement>(null);
  const [isOver, setOver] = useState(false);
  const model = useComposer({ accept: isDisabled ? "" : accept, agentId, mode });
  const takesFiles = accept !== "" && !isDisabled;
  const stop = usePart("stop-button", "ts-button ts-stop");
  const send = usePart("send-button", "ts-button ts-primary ts-send");
  useAutoGrow(field, model.text);
  const onKeyDown = (event: KeyboardEvent): void => {
    const { isComposing, keyCode } = event.nativeEvent;
    if (event.key !== "Enter" || event.shiftKey || isComposing || keyCode === IME_KEY_CODE) return;
    event.preventDefault();
    model.send();
  };
  const onDrag = (event: DragEvent): void => {
    if (!takesFiles || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(event.type === "dragover");
    if (event.type === "drop") model.attach(event.dataTransfer.files);
  };
  return (
    <form
      {...usePart("composer", "ts-composer")}
      data-over={isOver || undefined}
      onSubmit={(event) => {
        event.preventDefault();
        model.send();
      }}
      onDragOver={onDrag}
      onDragLeave={onDrag}
      onDrop={onDrag}
    >
      {model.files.length > 0 && <AttachmentList files={model.files} onRemove={model.removeFile} />}
      <Slot name="ComposerTop" />
      <div className="ts-composer-row">
        <Slot name="ComposerStart" />
        {takesFiles && <AttachButton accept={accept} onFiles={model.attach} />}
        <textarea
          ref={field}
          {...usePart("composer-input", "ts-composer-text")}
          rows={1}
          aria-label={threadStrings.message}
          placeholder={isOver ? threadStrings.dropFiles : (placeholder ?? threadStrings.placeholder)}
          disabled={isDisabled}
          value={model.text}
          onChange={(event) => model.setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            const { files } = event.clipboardData;
            if (!takesFiles || files.length === 0) return;
            event.preventDefault();
            model.attach(files);
          }}
        />
        <Slot name="ComposerEnd" />
        {model.isRunning && (
          <button type="button" {...stop} disabled={model.isStopping} onClick={model.stop}>
            <Icon name="stop" />
            {threadStrings.stop}
          </button>
        )}
        {(!model.isRunning || model.canSend) && (
          <button
            type="submit"
            {...send}
            aria-label={threadStrings.send}
            disabled={isDisabled || !model.canSend}
          >
            <Icon name="up" />
          </button>
        )}
      </div>
      {model.problem !== null && <div className="ts-fail ts-small">{model.problem}</div>}
    </form>
  );
}

interface AttachButtonProps {
  readonly accept: string;
  readonly onFiles: (files: FileList) => void;
}

function AttachButton({ accept, onFiles }: AttachButtonProps): ReactNode {
  const threadStrings = useThreadContext().strings.thread;
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        className="ts-sr"
        multiple
        accept={accept === "*/*" ? undefined : accept}
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => {
          if (event.target.files !== null) onFiles(event.target.files);
          // Allows the same file to be chosen again.
          event.target.value = "";
        }}
      />
      <button
        type="button"
        {...usePart("attach-button", "ts-icon-button")}
        aria-label={threadStrings.attach}
        onClick={() => input.current?.click()}
      >
        <Icon name="clip" />
      </button>
    </>
  );
}

/** Grows a text field with its text in browsers without `field-sizing`. */
function useAutoGrow(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null || CSS.supports("field-sizing", "content")) return;
    element.style.blockSize = "auto";
    element.style.blockSize = `${element.scrollHeight}px`;
  }, [field, text]);
}
