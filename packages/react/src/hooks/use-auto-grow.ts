/** Lets a text field be as tall as its text, where the browser's styles can't (`field-sizing`). */
import { type RefObject, useLayoutEffect } from "react";

export function useAutoGrow(field: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null || CSS.supports("field-sizing", "content")) return;
    element.style.blockSize = "auto";
    element.style.blockSize = `${element.scrollHeight}px`;
  }, [field, text]);
}
