/** `Button` is a button that submits no form, with the look of our buttons unless it has another class. */
import type { ComponentProps, ReactNode } from "react";

export function Button(props: Omit<ComponentProps<"button">, "ref" | "type">): ReactNode {
  return <button type="button" className="ts-button" {...props} />;
}
