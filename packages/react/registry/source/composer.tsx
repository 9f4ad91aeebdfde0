"use client";

import { type ComposerProps, useComposer, useStrings } from "@turnstream/react";
import type { KeyboardEvent } from "react";
import { Button } from "./ui/button.tsx";
import { Textarea } from "./ui/textarea.tsx";

/** The input for messages: Enter sends, Shift+Enter breaks the line, and files can be attached. */
export function Composer({ placeholder, isDisabled = false, accept = "*/*", ...options }: ComposerProps) {
  const strings = useStrings().thread;
  const composer = useComposer({ accept, ...options });
  const onKeyDown = (event: KeyboardEvent) => {
    // An Enter that confirms text of an input method must not send.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    composer.send();
  };
  return (
    <form
      className="bg-card flex flex-col gap-2 rounded-xl border p-2 shadow-sm"
      onSubmit={(event) => {
        event.preventDefault();
        composer.send();
      }}
    >
      {composer.files.length > 0 && (
        <ul className="flex flex-wrap gap-2" aria-label={strings.files}>
          {composer.files.map((file) => (
            <li key={file.id} className="flex items-center gap-2 rounded-md border px-2 text-sm">
              {file.name}
              {file.status === "failed" && <span className="text-destructive">{strings.uploadFailed}</span>}
              <Button
                type="button"
                variant="ghost"
                size="sm"
                aria-label={strings.removeFile(file.name)}
                onClick={() => composer.removeFile(file.id)}
              >
                ×
              </Button>
            </li>
          ))}
        </ul>
      )}
      {composer.refused.length > 0 && (
        <p role="alert" className="text-destructive text-sm">
          {strings.uploadFailed}: {composer.refused.map(({ name }) => name).join(", ")}
        </p>
      )}
      <Textarea
        className="min-h-10 resize-none border-0 shadow-none focus-visible:ring-0"
        rows={1}
        aria-label={strings.message}
        placeholder={placeholder ?? strings.placeholder}
        disabled={isDisabled}
        value={composer.text}
        onChange={(event) => composer.setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="flex items-center justify-end gap-2">
        {accept !== "" && (
          <label className="text-muted-foreground mr-auto cursor-pointer text-sm">
            {strings.attach}
            <input
              type="file"
              className="sr-only"
              multiple
              disabled={isDisabled}
              {...(accept === "*/*" ? {} : { accept })}
              onChange={(event) => composer.attach(event.target.files ?? [])}
            />
          </label>
        )}
        {composer.isRunning && (
          <Button
            type="button"
            variant="outline"
            size="sm"
            disabled={composer.isStopping}
            onClick={composer.stop}
          >
            {strings.stop}
          </Button>
        )}
        <Button type="submit" size="sm" disabled={isDisabled || !composer.canSend}>
          {strings.send}
        </Button>
      </div>
      {composer.problem !== null && <p className="text-destructive text-sm">{composer.problem}</p>}
    </form>
  );
}
