/**
 * `createDiagram` returns a component that shows diagrams. Loaded as a chunk with the first one.
 * Invariant: a diagram is an image. A browser runs no scripts in an SVG image, loads nothing for it and opens no links
 * of it. The source is shown until the diagram is drawn, and if it can't be drawn. The copy button copies the source.
 */
import { type ComponentType, type ReactNode, useEffect, useRef, useState } from "react";
import { onThemeChange, readChartColors } from "../content/chart-colors.ts";
import type { PluginCodeProps } from "../content/markdown-plugin.ts";
import { CopyButton } from "../ui/code-block.tsx";
import { createMermaidFrame } from "./mermaid-frame.ts";

interface Picture {
  readonly text: string;
  readonly url: string;
  readonly width: number;
  readonly height: number;
}

export function createDiagram(url: string): ComponentType<PluginCodeProps> {
  const frame = createMermaidFrame(url);
  return function Diagram({ language, text, children }: PluginCodeProps): ReactNode {
    const holder = useRef<HTMLDivElement>(null);
    const [picture, setPicture] = useState<Picture | null>(null);
    useEffect(() => {
      const element = holder.current;
      if (element === null) return undefined;
      let isCurrent = true;
      const paint = (): void => {
        frame.draw(text, isDark(element) ? "dark" : "neutral").then(
          (svg) => isCurrent && setPicture(toPicture(text, svg)),
          // The source stays.
          () => isCurrent && setPicture(null),
        );
      };
      paint();
      const stop = onThemeChange(element, paint);
      return () => {
        isCurrent = false;
        stop();
      };
    }, [text]);
    return (
      <div ref={holder}>
        {picture?.text === text ? (
          <figure className="ts-code">
            <figcaption className="ts-code-head">
              <bdi>{language}</bdi>
              <CopyButton text={text} />
            </figcaption>
            <img
              className="ts-diagram"
              src={picture.url}
              alt={text}
              width={picture.width}
              height={picture.height}
              onError={() => setPicture(null)}
            />
          </figure>
        ) : (
          children
        )}
      </div>
    );
  };
}

/** A light text is on a dark background. */
function isDark(element: HTMLElement): boolean {
  return Number.parseInt(readChartColors(element).text.slice(1, 3), 16) > 127;
}

function toPicture(text: string, svg: string): Picture {
  const [, width = "600", height = "400"] = /viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg) ?? [];
  const url = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  return { text, url, width: Math.ceil(Number(width)), height: Math.ceil(Number(height)) };
}
