/**
 * `Composer` is the input for messages. Enter sends and Shift+Enter inserts a line break. On touch screens Enter inserts a
 * line break and the button sends. Files are added by button, paste or drop. A running turn can be stopped, and a message
 * sent meanwhile is queued.
 * Invariant: an Enter that confirms text of an input method neither sends nor breaks the line. A file that is not added is
 * named with the reason.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { ComposerProps } from "../components.ts";
import { useComposer } from "../hooks/use-composer.ts";
import { useSessionSelector } from "../hooks/use-session-selector.ts";
import { Icon } from "../ui/icons.tsx";
import { Slot, usePart } from "../parts.tsx";
import { lazyCards } from "../cards/lazy-cards.ts";
import { NoNotice } from "../lazy-parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { useComposerStore } from "../hooks/stores.ts";
import { Button } from "../ui/button.tsx";

const AttachmentList = lazyCards.part((parts) => parts.AttachmentList);
const RefusedFiles = lazyCards.part((parts) => parts.RefusedFiles);
const AgentPicker = lazyCards.part((parts) => parts.AgentPicker);
const ComposerEffects = lazyCards.part((parts) => parts.ComposerEffects, NoNotice);

/** The key code of a key that belongs to an input method, even if `isComposing` is already false. */
const IME_KEY_CODE = 229;

/** A keyboard on the screen has no Shift+Enter. A touch screen with a mouse usually has a real keyboard. */
const isTouchOnly = (): boolean =>
  matchMedia("(pointer: coarse)").matches && !matchMedia("(any-pointer: fine)").matches;

export function Composer({
  placeholder,
  isDisabled = false,
  agents = [],
  mode,
  ...given
}: ComposerProps): ReactNode {
  const strings = useStrings();
  const composer = useComposerStore();
  const threadStrings = strings.thread;
  const field = useRef<HTMLTextAreaElement>(null);
  const lastAgent = useSessionSelector(({ state }) => state.turns.last()?.agent);
  const { accept = "*/*" } = given;
  const limits = { ...given, accept: isDisabled ? "" : accept };
  const hasPicker = agents.length > 1;
  const shownAgent = agents.find(({ id }) => id === lastAgent) ?? agents[0];
  const agentId = given.agentId ?? (hasPicker ? shownAgent?.id : undefined);
  const model = useComposer({ ...limits, agentId, mode });
  const [isOver, setOver] = useState(false);
  const stop = usePart("stop-button", "ts-round-button ts-stop");
  const send = usePart("send-button", "ts-round-button ts-send");
  useEffect(() => (field.current === null ? undefined : composer.bindField(field.current)), [composer]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const { isComposing, keyCode } = event.nativeEvent;
    if (event.key !== "Enter" || event.shiftKey || isComposing || keyCode === IME_KEY_CODE) return;
    if (!event.ctrlKey && !event.metaKey && isTouchOnly()) return;
    event.preventDefault();
    model.send();
  };
  return (
    <form
      {...usePart("composer", "ts-composer")}
      data-over={isOver || undefined}
      onSubmit={(event) => {
        event.preventDefault();
        model.send();
      }}
    >
      <ComposerEffects
        field={field}
        text={model.text}
        onFiles={isDisabled ? null : model.attach}
        onOver={setOver}
      />
      {model.files.length > 0 && <AttachmentList files={model.files} onRemove={model.removeFile} />}
      {model.refused.length > 0 && (
        <RefusedFiles files={model.refused} limits={limits} onDismiss={model.clearRefused} />
      )}
      <Slot name="ComposerTop" />
      <div className="ts-composer-row">
        <Slot name="ComposerStart" />
        {accept !== "" && !isDisabled && <AttachButton accept={accept} onFiles={model.attach} />}
        {hasPicker && (
          <AgentPicker
            agents={agents}
            agentId={model.agentId ?? agentId ?? ""}
            isDisabled={isDisabled}
            onChoose={model.setAgent}
          />
        )}
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
        />
        <Slot name="ComposerEnd" />
        {model.isRunning && (
          <Button {...stop} aria-label={threadStrings.stop} disabled={model.isStopping} onClick={model.stop}>
            <Icon name="stop" />
          </Button>
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
  const threadStrings = useStrings().thread;
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
      <Button
        {...usePart("attach-button", "ts-icon-button")}
        aria-label={threadStrings.attach}
        onClick={() => input.current?.click()}
      >
        <Icon name="clip" />
      </Button>
    </>
  );
}
