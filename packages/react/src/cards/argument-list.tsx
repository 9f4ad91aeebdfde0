/**
 * `ArgumentList` shows the arguments of a tool call, field by field.
 * Invariant: the exact value is always shown, beside the formatted one if they differ. Exact values are never rounded,
 * translated or truncated here, and invisible characters are made visible. A string is the truncated start of the
 * arguments' JSON and is shown as it is; the card links to the whole.
 */
import type { ArgumentField, Json } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { useThreadContext } from "../context.ts";
import { visibleText } from "../visible-text.ts";
import { formatArgument, nameArgument } from "./format-argument.ts";
import { useCardStrings } from "../hooks/use-card-strings.ts";

interface ArgumentListProps {
  readonly input: Json;
  /** What the schema of the tool states about the arguments. */
  readonly fields?: readonly ArgumentField[] | undefined;
}

export function ArgumentList({ input, fields = [] }: ArgumentListProps): ReactNode {
  const { argumentNames } = useThreadContext();
  const strings = useCardStrings();
  // Arguments are an object, so a string is the truncated start of their JSON.
  if (typeof input === "string") return <pre className="ts-args-json">{visibleText(input)}</pre>;
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return <pre className="ts-args-json">{formatJson(input)}</pre>;
  const entries = Object.entries(input as { readonly [name: string]: Json });
  if (entries.length === 0) return <p className="ts-faint">{strings.cards.noArguments}</p>;
  return (
    <dl className="ts-args">
      {entries.map(([name, value]) => {
        const field = fields.find((one) => one.name === name);
        return (
          <div key={name} className="ts-arg">
            <dt>
              <bdi>{visibleText(nameArgument(name, field?.label, argumentNames))}</bdi>
            </dt>
            <dd>
              <Value value={value} formatted={formatArgument(value, field, argumentNames, strings)} />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function Value({ value, formatted }: { readonly value: Json; readonly formatted: string | null }): ReactNode {
  if (typeof value === "object" && value !== null) return <pre>{formatJson(value)}</pre>;
  const exact = typeof value === "string" ? value : JSON.stringify(value);
  if (formatted === null || formatted === exact) return <bdi>{visibleText(exact)}</bdi>;
  return (
    <>
      <bdi>{visibleText(formatted)}</bdi> <bdi className="ts-exact">{visibleText(exact)}</bdi>
    </>
  );
}

function formatJson(value: Json): string {
  return visibleText(JSON.stringify(value, null, 2));
}
