/**
 * `Modal` is a dialog above the page, with a title and a close button.
 * Invariant: the focus stays inside until it closes, and then returns to where it was. Escape and a press outside
 * close it. The rest of the page is inert meanwhile, which the browser does for a modal `<dialog>`.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { useThreadContext } from "../context.ts";
import { Icon } from "../ui/icons.tsx";
import { useSharingStrings } from "./use-sharing-strings.ts";
import { Button } from "../ui/button.tsx";

export interface ModalProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

const FOCUSABLE = "button:not(:disabled), input:not(:disabled), select:not(:disabled), a[href]";

export function Modal({ title, onClose, children }: ModalProps): ReactNode {
  const strings = useSharingStrings();
  const { theme } = useThreadContext();
  const heading = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    const { activeElement } = document;
    if (!element.open) element.showModal();
    element.querySelector<HTMLElement>("h2")?.focus();
    return () => {
      element.close();
      // The browser restores the focus only if the dialog is still in the page.
      if (activeElement instanceof HTMLElement) activeElement.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className="ts-root ts-modal"
      lang={strings.locale}
      data-theme={theme}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={wrapFocus}
      // The dialog has no padding, so only a press on its backdrop has the dialog itself as target.
      onPointerDown={({ target, currentTarget }) => target === currentTarget && onClose()}
    >
      <div className="ts-modal-body">
        <div className="ts-modal-head">
          <h2 id={heading} tabIndex={-1}>
            {title}
          </h2>
          <Button className="ts-icon-button" aria-label={strings.sharing.close} onClick={onClose}>
            <Icon name="close" />
          </Button>
        </div>
        {children}
      </div>
    </dialog>
  );
}

/** Moves the focus from the last element to the first and back. Otherwise it would move to the browser's own UI. */
function wrapFocus(event: KeyboardEvent<HTMLDialogElement>): void {
  if (event.key !== "Tab") return;
  const elements = [...event.currentTarget.querySelectorAll<HTMLElement>(FOCUSABLE)];
  const [from, to] = event.shiftKey ? [elements[0], elements.at(-1)] : [elements.at(-1), elements[0]];
  const isAtHeading = event.shiftKey && document.activeElement?.tagName === "H2";
  if (document.activeElement !== from && !isAtHeading) return;
  event.preventDefault();
  to?.focus();
}
