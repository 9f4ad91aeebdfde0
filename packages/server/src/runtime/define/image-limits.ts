/**
 * `ImageLimits` bounds the images of one model call, and `resolveImageLimits` validates the option `images` of an agent.
 * Pure.
 *
 * Invariant: each limit has a default and a range, and the documented default equals `DEFAULT_IMAGE_LIMITS`. Beyond a
 * limit, the model gets the text form of an image: its name, type and size. A limit never fails a turn.
 */
import {
  AMOUNT,
  assertInRange,
  assertKnownOptions,
  COUNT,
  type NumberRange,
  type OptionKeys,
  show,
} from "./check-options.ts";
import { RuntimeError } from "../errors.ts";

export interface ImageLimits {
  /** Images per model call; the newest ones are sent. @default 20 */
  readonly maxImages: number;
  /** Bytes per image; larger images are not sent. @default 5000000 */
  readonly maxImageBytes: number;
  /** Bytes of all images of a model call together; the newest ones are sent. @default 20000000 */
  readonly maxTotalBytes: number;
}

const DEFAULT_IMAGE_LIMITS: ImageLimits = {
  maxImages: 20,
  maxImageBytes: 5_000_000,
  maxTotalBytes: 20_000_000,
};

const RANGES: Readonly<Record<keyof ImageLimits, NumberRange>> = {
  maxImages: AMOUNT,
  maxImageBytes: COUNT,
  maxTotalBytes: COUNT,
};

const NAMES: OptionKeys<Partial<ImageLimits>> = {
  maxImages: false,
  maxImageBytes: false,
  maxTotalBytes: false,
};

/**
 * Returns null if the model gets no images.
 * @param agent its name, for the error message
 */
export function resolveImageLimits(
  option: boolean | Partial<ImageLimits> | undefined,
  agent: string,
): ImageLimits | null {
  if (option === undefined || option === false) return null;
  if (option === true) return DEFAULT_IMAGE_LIMITS;
  const of = `\`images\` of the agent ${agent}`;
  if (typeof option !== "object" || option === null || Array.isArray(option))
    throw new RuntimeError("BAD_AGENT", `${of} must be a boolean or an object, got ${show(option)}`);
  assertKnownOptions(option, NAMES, of);
  assertInRange(option, RANGES, of, "BAD_AGENT");
  return { ...DEFAULT_IMAGE_LIMITS, ...option };
}
