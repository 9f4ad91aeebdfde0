/**
 * `resolveModel` turns the name of a model, such as `anthropic/claude-sonnet-4-6`, into a model, as the AI SDK does: by
 * `globalThis.AI_SDK_DEFAULT_PROVIDER`, or by the Vercel AI Gateway. `loadNamedModel` finds a missing package at startup.
 * Invariant: the optional package `@ai-sdk/gateway` is imported only for a name. The provider is chosen when a model is
 * loaded, so a program can set the global after it has defined its agents. A failed load is tried again.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
  ProviderV4,
} from "@ai-sdk/provider";
import type { Model, ModelOption } from "./model.ts";

/** The model of a name can't be loaded. */
class ModelNameError extends Error {
  readonly code = "BAD_MODEL_NAME";

  constructor(name: string, detail: string, cause?: unknown) {
    super(`the model ${JSON.stringify(name)} ${detail}`, cause === undefined ? {} : { cause });
    this.name = "ModelNameError";
  }
}

class NamedModel implements Model {
  readonly specificationVersion = "v4";
  readonly provider = "gateway";
  readonly modelId: string;
  #loading: Promise<Model> | null = null;

  constructor(name: string) {
    this.modelId = name;
  }

  load(): Promise<Model> {
    this.#loading ??= loadByName(this.modelId).catch((error: unknown) => {
      this.#loading = null;
      throw error;
    });
    return this.#loading;
  }

  get supportedUrls(): PromiseLike<Record<string, RegExp[]>> {
    return this.load().then((model) => model.supportedUrls);
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    return (await this.load()).doGenerate(options);
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    return (await this.load()).doStream(options);
  }
}

export function resolveModel(option: ModelOption): Model {
  return typeof option === "string" ? new NamedModel(option) : option;
}

/**
 * Loads the model of a name; does nothing for other models.
 * @throws ModelNameError if the package is missing, or if the name has no provider
 */
export async function loadNamedModel(model: Model | null): Promise<void> {
  if (model instanceof NamedModel) await model.load();
}

async function loadByName(name: string): Promise<Model> {
  const given = (globalThis as { readonly AI_SDK_DEFAULT_PROVIDER?: ProviderV4 }).AI_SDK_DEFAULT_PROVIDER;
  const model = (given ?? (await importGateway(name))).languageModel(name);
  if (model.specificationVersion !== "v4")
    throw new ModelNameError(name, "must be a model of AI SDK 7 (specification v4): update its provider");
  return model;
}

async function importGateway(name: string): Promise<ProviderV4> {
  if (!name.includes("/"))
    throw new ModelNameError(
      name,
      'must be a name of the AI Gateway with its provider, such as "anthropic/claude-sonnet-4-6", or AI_SDK_DEFAULT_PROVIDER must be set',
    );
  try {
    const { gateway } = await import("@ai-sdk/gateway");
    return gateway;
  } catch (error) {
    throw new ModelNameError(
      name,
      'needs the package @ai-sdk/gateway: run `npm install @ai-sdk/gateway`, and set AI_GATEWAY_API_KEY. Or pass a model object, such as anthropic("claude-sonnet-4-6")',
      error,
    );
  }
}
