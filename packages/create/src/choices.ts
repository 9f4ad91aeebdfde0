/**
 * `TEMPLATES` and `MODELS` are what a user can choose from.
 * Invariant: the key of a template is its folder in `templates/`. Exactly one file of each template contains
 * `MODEL_IN_TEMPLATES`, and that file has the code of the agent.
 */

interface Choice {
  readonly label: string;
  readonly hint: string;
}

export interface ModelChoice extends Choice {
  /** The environment variable with the API key; null if the model needs none. */
  readonly keyVariable: string | null;
  /** The package that has the model, and its version. */
  readonly dependencies: Readonly<Record<string, string>>;
  /** The import of the agent's file; null if the model needs none. */
  readonly importLine: string | null;
  /** The value of the option `model`. */
  readonly expression: string;
}

export const TEMPLATES = {
  next: { label: "Next.js", hint: "App Router, one process" },
  vite: { label: "Vite", hint: "a React page, and the agents inside Vite" },
  hono: { label: "Hono", hint: "your own server on Node, with a React page" },
  "from-ai-sdk": { label: "From the AI SDK", hint: "your `streamText` call, with a React page" },
} as const satisfies Record<string, Choice>;

export type TemplateName = keyof typeof TEMPLATES;

/** A template is a working program with this model. Another choice replaces it. */
export const MODEL_IN_TEMPLATES = `"anthropic/claude-sonnet-4-6"`;

export const MODELS = {
  gateway: {
    label: "Vercel AI Gateway",
    hint: "models of all providers with one key",
    keyVariable: "AI_GATEWAY_API_KEY",
    dependencies: { "@ai-sdk/gateway": "^4.0.142" },
    importLine: null,
    expression: MODEL_IN_TEMPLATES,
  },
  openai: {
    label: "OpenAI",
    hint: "needs an API key of OpenAI",
    keyVariable: "OPENAI_API_KEY",
    dependencies: { "@ai-sdk/openai": "^4.0.114" },
    importLine: `import { openai } from "@ai-sdk/openai";`,
    expression: `openai("gpt-5.6")`,
  },
  anthropic: {
    label: "Anthropic",
    hint: "needs an API key of Anthropic",
    keyVariable: "ANTHROPIC_API_KEY",
    dependencies: { "@ai-sdk/anthropic": "^4.0.102" },
    importLine: `import { anthropic } from "@ai-sdk/anthropic";`,
    expression: `anthropic("claude-sonnet-4-6")`,
  },
  scripted: {
    label: "Scripted",
    hint: "repeats what you write; needs no key",
    keyVariable: null,
    dependencies: {},
    importLine: `import { script, scriptedModel } from "@turnstream/server/testing";`,
    expression: `scriptedModel(({ text }) => [script.text(\`You wrote: \${text}\`)])`,
  },
} as const satisfies Record<string, ModelChoice>;

export type ModelName = keyof typeof MODELS;
