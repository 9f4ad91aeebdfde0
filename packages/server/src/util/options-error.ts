/** `OptionsError` reports options that can't be used. */
import { defineErrors } from "./errors.ts";

const MEANINGS = { BAD_OPTIONS: "Correct the options." } as const;

export class OptionsError extends defineErrors("OptionsError", MEANINGS) {}
