/** Where people write. Enter sends, Shift+Enter breaks the line; while a turn runs it can be stopped. */
import { type KeyboardEvent, type ReactNode, useState } from "react";
import type { ComposerProps } from "../components.ts";
import { useShared } from "../context.ts";
import { useView } from "../hooks/use-view.ts";
import { Icon } from "./icons.tsx";

export function Composer({ placeholder, isDisabled = false, agent }: ComposerProps): ReactNode {
  const { strings, session } = useShared();
  const words = strings.thread;
  const [text, setText] = useState("");
  const running = useView(({ state }) => {
    const last = state.turns.last();
    return last?.status === "running" ? last.id : null;
  });
  const send = (): void => {
    if (text.trim() === "") return;
    void session.send({ text, ...(agent === undefined ? {} : { agent }) }).done.catch(() => {});
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="ts-composer" onSubmit={(event) => event.preventDefault()}>
      <textarea
        className="ts-composer-text"
        rows={1}
        aria-label={words.message}
        placeholder={placeholder ?? words.placeholder}
        disabled={isDisabled}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {running !== null && (
        <button
          type="button"
          className="ts-button"
          onClick={() => void session.stop(running).catch(() => {})}
        >
          <Icon name="stop" />
          {words.stop}
        </button>
      )}
      <button type="button" className="ts-button ts-primary" aria-label={words.send} onClick={send}>
        <Icon name="up" />
      </button>
    </form>
  );
}
