/**
 * `Formula` shows a formula of an answer. The plugin that found it draws it.
 * Invariant: the formula is shown as written while it grows, while the plugin loads, and if the plugin can't draw it.
 */
import type { ReactNode } from "react";
import { useThreadContext } from "../context.ts";
import { PlainOnError } from "./fence.tsx";
import type { FoundFormula } from "./markdown-plugin.ts";
import { usePluginParts } from "./use-plugin-parts.ts";

/** A token of the Markdown parser. */
export interface FormulaToken extends FoundFormula {
  readonly type: "formula";
}

export function Formula({ text, isDisplay, isClosed, raw }: FoundFormula): ReactNode {
  const { markdownPlugins } = useThreadContext();
  const plugin = markdownPlugins.find(({ formulas }) => formulas !== undefined);
  const canDraw = isClosed && plugin !== undefined && text.length <= plugin.maxChars;
  const parts = usePluginParts(canDraw ? plugin : undefined);
  const plain = <span className="ts-plain">{raw}</span>;
  if (parts?.Formula === undefined) return plain;
  return (
    <PlainOnError plain={plain}>
      <parts.Formula text={text} isDisplay={isDisplay} raw={raw} />
    </PlainOnError>
  );
}
