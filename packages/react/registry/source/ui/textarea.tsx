/** A stand-in for the text field of shadcn, with the props that the items use. Items import that of the app. */
import type { ComponentProps } from "react";

export function Textarea(props: ComponentProps<"textarea">) {
  return <textarea {...props} />;
}
