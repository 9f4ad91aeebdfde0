/**
 * `checkOutput` returns the structured output of a call that clients get, if the tool publishes it with a schema.
 *
 * Invariant: clients get exactly what the schema returns, so a schema that drops unknown fields keeps them on the
 * server. The output is at most `MAX_OUTPUT_BYTES` long. A wrong output is left out and reported, but doesn't fail the
 * call: the tool has already acted, and a model that reads of a failure might act again.
 */
import type { Json } from "@turnstream/protocol";
import { parseInput } from "../../models/tool-schema.ts";
import type { Tool, ToolOutput } from "../define/tool.ts";

/** As JSON in UTF-8. An event holds at most 64 kB, with all its other fields. */
export const MAX_OUTPUT_BYTES = 16_000;

/** @param report is called with the reason why the output is left out */
export async function checkOutput(
  { output: schema }: Pick<Tool, "output">,
  returned: ToolOutput,
  report: (error: Error) => void,
): Promise<Json | undefined> {
  const given = returned.output === undefined ? returned.content : returned.output;
  if (schema === null) {
    if (returned.output !== undefined)
      report(new TypeError("the tool returned `output`, but has no schema `output`, so no client gets it"));
    return undefined;
  }
  try {
    const checked = await parseInput(schema, given);
    if (!checked.ok) throw new TypeError(`\`output\` doesn't match its schema: ${checked.problem}`);
    const text = JSON.stringify(checked.value) as string | undefined;
    if (text === undefined) throw new TypeError("`output` must be a value that JSON can represent");
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_OUTPUT_BYTES)
      throw new TypeError(`\`output\` must be at most ${MAX_OUTPUT_BYTES} bytes of JSON, got ${bytes}`);
    return JSON.parse(text) as Json;
  } catch (error) {
    report(error instanceof Error ? error : new Error(String(error)));
    return undefined;
  }
}
