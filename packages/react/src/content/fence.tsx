/**
 * `Fence` shows a code block of an answer. A plugin draws it if one is for its language, after the block is complete.
 * Invariant: the code is readable at any time: while it grows, while the plugin loads, and if the plugin fails.
 */
import { Component, type ReactNode } from "react";
import { useThreadContext } from "../context.ts";
import { CodeBlock } from "../ui/code-block.tsx";
import type { PluginCodeProps } from "./markdown-plugin.ts";
import { usePluginParts } from "./use-plugin-parts.ts";

interface FenceProps extends PluginCodeProps {
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
  const parts = usePluginParts(plugin);
  const plain = <CodeBlock {...code} />;
  if (parts?.Code === undefined) return plain;
  return (
    <PlainOnError plain={plain}>
      <parts.Code {...code} />
    </PlainOnError>
  );
}

interface PlainOnErrorProps {
  readonly plain: ReactNode;
  readonly children: ReactNode;
}

/** Shows the plain text instead of a part that throws. React reports the error. */
export class PlainOnError extends Component<PlainOnErrorProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? this.props.plain : this.props.children;
  }
}
