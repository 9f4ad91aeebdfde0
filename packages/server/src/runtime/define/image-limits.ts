/**
 * `ImageLimits` bounds the images of one model call.
 *
 * Invariant: beyond a limit, the model gets the text form of an image: its name, type and size. A limit never fails a
 * turn.
 */
import { z } from "zod";
import { integer, type OptionsInput, type OptionsOutput } from "../../util/parse-options.ts";

const imageLimitShape = {
  /** Images of one model call. @default 20 */
  maxImages: integer().default(20),
  /** Size of one image. A larger image is not sent. @default 5000000 */
  maxImageBytes: integer(1).default(5_000_000),
  /** Size of all images of one model call. @default 20000000 */
  maxTotalBytes: integer(1).default(20_000_000),
};

export interface ImageLimitOptions extends OptionsInput<typeof imageLimitShape> {}

export interface ImageLimits extends OptionsOutput<typeof imageLimitShape> {}

export const imageLimits: z.ZodType<ImageLimits, ImageLimitOptions> = z.strictObject(imageLimitShape);
