/**
 * `ArgumentList` shows the arguments of a tool call, field by field.
 * Invariant: values are never rounded, translated or truncated here, and invisible characters are made visible. A
 * string is the truncated start of the arguments' JSON and is shown as it is; the card links to the whole.
 */
import type { Json } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { useThreadContext } from "../context.ts";
import { useArgumentName } from "../hooks/use-names.ts";
import { visibleText } from "../visible-text.ts";

export function ArgumentList({ input }: { readonly input: Json }): ReactNode {
  const { strings } = useThreadContext();
  const argumentName = useArgumentName();
  // Arguments are an object, so a string is the truncated start of their JSON.
  if (typeof input === "string") return <pre className="ts-args-json">{visibleText(input)}</pre>;
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return <pre className="ts-args-json">{formatJson(input)}</pre>;
  const entries = Object.entries(input as { readonly [name: string]: Json });
  if (entries.length === 0) return <p className="ts-faint">{strings.cards.noArguments}</p>;
  return (
    <dl className="ts-args">
      {entries.map(([name, value]) => (
        <div key={name} className="ts-arg">
          <dt>
            <bdi>{visibleText(argumentName(name))}</bdi>
          </dt>
          <dd>
            {typeof value === "object" && value !== null ? <pre>{formatJson(value)}</pre> : plainValue(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function plainValue(value: Json): ReactNode {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return <bdi>{visibleText(text)}</bdi>;
}

function formatJson(value: Json): string {
  return visibleText(JSON.stringify(value, null, 2));
}
