/**
 * `Fence` shows a code block of an answer, and `Formula` a formula. A plugin draws them after they are complete.
 * Invariant: both are readable as written at any time: while they grow, while the plugin loads, and if it fails.
 */
import { Component, type ReactNode } from "react";
import { useThreadContext } from "../context.ts";
import { CodeBlock } from "../ui/code-block.tsx";
import type { FoundFormula, PluginCodeProps } from "./markdown-plugin.ts";

interface FenceProps extends Omit<PluginCodeProps, "children"> {
  /** False while the block may grow. */
  readonly isComplete: boolean;
}

export function Fence({ isComplete, ...code }: FenceProps): ReactNode {
  const { markdownPlugins } = useThreadContext();
  const { language, text } = code;
  const plugin = markdownPlugins.find(
    ({ drawsCode, maxChars }) =>
      isComplete && text.length <= maxChars && drawsCode?.(language.toLowerCase()) === true,
  );
  const plain = <CodeBlock {...code} />;
  if (plugin?.Code === undefined) return plain;
  return (
    <PlainOnError plain={plain}>
      <plugin.Code {...code}>{plain}</plugin.Code>
    </PlainOnError>
  );
}

interface PlainOnErrorProps {
  readonly plain: ReactNode;
  readonly children: ReactNode;
}

/** Shows the plain text instead of a part that throws. React reports the error. */
class PlainOnError extends Component<PlainOnErrorProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? this.props.plain : this.props.children;
  }
}

/** A token of the Markdown parser. */
export interface FormulaToken extends FoundFormula {
  readonly type: "formula";
}

export function Formula({ text, isDisplay, isClosed, raw }: FoundFormula): ReactNode {
  const { markdownPlugins } = useThreadContext();
  const plugin = markdownPlugins.find(({ formulas }) => formulas !== undefined);
  const plain = <span className="ts-plain">{raw}</span>;
  if (!isClosed || plugin?.Formula === undefined || text.length > plugin.maxChars) return plain;
  return (
    <PlainOnError plain={plain}>
      <plugin.Formula text={text} isDisplay={isDisplay}>
        {plain}
      </plugin.Formula>
    </PlainOnError>
  );
}
