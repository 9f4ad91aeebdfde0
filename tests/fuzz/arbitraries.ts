/**
 * `jsonText`, `objectWith` and `hostileText` generate input for several targets: JSON in expensive shapes, objects with
 * known field names and odd values, and texts with odd characters.
 * Invariant: a text has at most 2 MB.
 */
import { LARGE_VALUES } from "@turnstream/testkit/gateway/large-json.ts";
import fc from "fast-check";

const MAX_BYTES = 2 * 1024 * 1024 - 500;

/** Mostly short, sometimes as long as a body can be. */
const size = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 60_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: MAX_BYTES }) },
);

const PIECES = [
  ...Array.from(
    "\0\t\n\r \u00a0\u2028\u2029\u200b\u202e\ufeff\ud800\udc00\"\\'`<>&#*_~|[](){}!-+=.:@/%0é漢ก💥\u0301\ufdfa",
  ),
  "ab ",
  "data: ",
  "event: ",
  "\r\n",
  "__proto__",
  "constructor",
  "https://x.example/",
  "&amp;",
  "1e309",
];

/** One to three pieces, repeated: patterns and parsers are slow for repetitions, not for noise. */
export function hostileText(maxLength: number): fc.Arbitrary<string> {
  const unit = fc
    .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 3 })
    .map((all) => all.join(""));
  const run = fc
    .tuple(unit, fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: maxLength })))
    .map(([text, count]) => text.repeat(Math.max(1, Math.min(count, Math.floor(maxLength / text.length)))));
  return fc
    .array(fc.oneof(run, fc.string({ unit: "binary", maxLength: 40 })), { maxLength: 6 })
    .map((all) => all.join("").slice(0, maxLength));
}

const largeValue = fc
  .tuple(fc.constantFrom(...Object.values(LARGE_VALUES)), size)
  .map(([make, bytes]) => make(Math.max(bytes, 10)).slice(0, MAX_BYTES));

/** JSON text, usually valid. */
const jsonValueText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("null", "true", "-1", "0", "1.5", "1e309", "[]", "{}", '""', '"\\u0000"', '"\\ud800"'),
  fc.json(),
  largeValue,
  fc.tuple(hostileText(20_000)).map(([text]) => JSON.stringify(text)),
);

/** Text of an object with some of the fields, odd values, and sometimes a damaged end. */
export function objectWith(
  fields: readonly string[],
  fixed: Readonly<Record<string, unknown>> = {},
): fc.Arbitrary<string> {
  const known = Object.entries(fixed).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  const field = fc
    .tuple(fc.constantFrom(...fields), jsonValueText)
    .map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  const whole = fc
    .array(field, { maxLength: 4 })
    .map((others) => `{${[...known, ...others].join(",")}}`.slice(0, MAX_BYTES));
  return fc.oneof(
    { weight: 8, arbitrary: whole },
    { weight: 1, arbitrary: jsonValueText },
    {
      weight: 1,
      arbitrary: fc.tuple(whole, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))),
    },
  );
}

/** An object with some of the fields, for decoders that get parsed JSON. */
export function valueWith(
  fields: readonly string[],
  types: readonly string[],
): fc.Arbitrary<Record<string, unknown>> {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    hostileText(2_000),
    fc.constantFrom<unknown>(...types, "0-1", "1-2", "t1", "main", 0, 1, -1, 1e308, null, [], {}),
  );
  return fc
    .tuple(fc.constantFrom(...types), fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 8 }))
    .map(([type, others]) => ({ ...others, type }));
}
