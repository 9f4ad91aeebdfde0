/**
 * `Icon` shows an inline icon in the current text color.
 * Invariant: screen readers ignore it, so a button that contains only an icon needs its own label.
 */
import type { ReactNode } from "react";

const PATHS = {
  chevron: "M6 3.5 10.5 8 6 12.5",
  check: "M3.5 8.5 6.5 11.5 12.5 4.5",
  up: "M8 13V3.5M3.5 8 8 3.5 12.5 8",
  down: "M8 3v9.5M3.5 8 8 12.5 12.5 8",
  clip: "M13 7.5 8 12.5a3 3 0 0 1-4.3-4.3l5.2-5.2a2 2 0 0 1 2.9 2.9L6.7 11a1 1 0 0 1-1.5-1.5L9.8 5",
  close: "M4 4l8 8M12 4l-8 8",
  file: "M9 2H4.5A1.5 1.5 0 0 0 3 3.5v9A1.5 1.5 0 0 0 4.5 14h7a1.5 1.5 0 0 0 1.5-1.5V6L9 2Zm0 0v4h4",
  allowed: "M4 7.5h8v6H4zM5.5 7.5V5A2.5 2.5 0 0 1 10.3 4",
  stop: "M5 5h6v6H5z",
};

export interface IconProps {
  readonly name: keyof typeof PATHS;
}

export function Icon({ name }: IconProps): ReactNode {
  return <IconShape name={name} path={PATHS[name]} />;
}

/** For parts in chunks, whose icons are not part of the first load. */
export function IconShape({ name, path }: { readonly name: string; readonly path: string }): ReactNode {
  return (
    <svg className={`ts-icon ts-icon-${name}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={path} />
    </svg>
  );
}
