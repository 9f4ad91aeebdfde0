/**
 * `ComposerEffects` does what a composer needs after the first render: it takes files that are pasted, or dropped on the
 * thread, stores the text across reloads, stays above an on-screen keyboard, and grows with its text. It renders nothing.
 * Invariant: a file that is dropped anywhere on the thread never replaces the page. A zoomed page also has a small
 * viewport, but no keyboard.
 */
import { storeDraft } from "@turnstream/client/view";
import { type RefObject, useContext, useEffect, useRef } from "react";
import { ThreadPartsContext, useThreadContext } from "../context.ts";
import { useIsomorphicLayoutEffect } from "../hooks/use-isomorphic-layout-effect.ts";
import { useComposerStore } from "../hooks/stores.ts";

export interface ComposerEffectsProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  /** Null if the composer takes no files. */
  readonly onFiles: ((files: FileList) => void) | null;
  /** Called with true while files are above the thread. */
  readonly onOver: (isOver: boolean) => void;
}

const DRAG_EVENTS = ["dragover", "dragleave", "drop"] as const;
const VIEWPORT_EVENTS = ["resize", "scroll"] as const;

export function ComposerEffects({ field, text, onFiles, onOver }: ComposerEffectsProps): null {
  const { session } = useThreadContext();
  const composer = useComposerStore();
  const root = useContext(ThreadPartsContext)?.root;
  const latestOnFiles = useRef(onFiles);
  useEffect(() => {
    latestOnFiles.current = onFiles;
  });
  useEffect(() => {
    // A composer outside of a thread takes files itself.
    const area = root?.current ?? field.current?.form;
    if (!area) return undefined;
    const onDrag = (event: DragEvent): void => {
      const { dataTransfer, relatedTarget, type } = event;
      const takeFiles = latestOnFiles.current;
      if (dataTransfer?.types.includes("Files") !== true) return;
      event.preventDefault();
      // The pointer also leaves the thread for one of its own elements.
      const isInside = type === "dragleave" && area.contains(relatedTarget as Node | null);
      onOver(takeFiles !== null && (type === "dragover" || isInside));
      if (type === "drop") takeFiles?.(dataTransfer.files);
    };
    for (const type of DRAG_EVENTS) area.addEventListener(type, onDrag);
    return () => {
      for (const type of DRAG_EVENTS) area.removeEventListener(type, onDrag);
    };
  }, [root, field, onOver]);
  useEffect(() => {
    const element = field.current;
    const onPaste = (event: ClipboardEvent): void => {
      const { files, types = [] } = event.clipboardData ?? {};
      // Text of an office program comes with a picture of itself.
      if (!files?.length || (types.includes("text/plain") && types.includes("text/html"))) return;
      event.preventDefault();
      latestOnFiles.current?.(files);
    };
    element?.addEventListener("paste", onPaste);
    return () => element?.removeEventListener("paste", onPaste);
  }, [field]);
  useEffect(() => storeDraft(composer, session), [composer, session]);
  useEffect(() => followKeyboard(root?.current ?? null), [root]);
  // In browsers without `field-sizing`, which the styles use.
  useIsomorphicLayoutEffect(() => {
    const element = field.current;
    if (element === null || CSS.supports("field-sizing", "content")) return;
    element.style.blockSize = "auto";
    element.style.blockSize = `${element.scrollHeight}px`;
  }, [field, text]);
  return null;
}

/** Sets `--ts-keyboard` to the height that an on-screen keyboard covers. Returns a function that ends it. */
function followKeyboard(thread: HTMLElement | null): (() => void) | undefined {
  const viewport = globalThis.visualViewport ?? null;
  if (viewport === null || thread === null) return undefined;
  const onChange = (): void => {
    const isZoomed = viewport.scale > 1.01;
    const below = thread.getBoundingClientRect().bottom - viewport.height - viewport.offsetTop;
    const covered = isZoomed ? 0 : Math.max(0, Math.round(Math.min(below, innerHeight - viewport.height)));
    thread.style.setProperty("--ts-keyboard", `${covered}px`);
  };
  for (const type of VIEWPORT_EVENTS) viewport.addEventListener(type, onChange);
  return () => {
    for (const type of VIEWPORT_EVENTS) viewport.removeEventListener(type, onChange);
  };
}
