/** A stand-in for the button of shadcn, with the props that the items use. Items import that of the app. */
import type { ComponentProps } from "react";

interface ButtonProps extends ComponentProps<"button"> {
  readonly variant?: "default" | "outline" | "ghost";
  readonly size?: "default" | "sm";
}

export function Button({ variant = "default", size = "default", ...props }: ButtonProps) {
  return <button data-variant={variant} data-size={size} {...props} />;
}
