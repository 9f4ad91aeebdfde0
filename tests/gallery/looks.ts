/**
 * `lookAt` takes down how a state looks: the computed styles of its controls, the boxes of its components, and a
 * picture. `compareLooks` returns the differences between two looks of the same state.
 * Invariant: a component that is missing, moved or of another size is a difference, whatever its pixels are.
 */
import type { Page } from "playwright-core";
import { still } from "./stage-page.ts";

/** What a user presses or writes into, and what a reset changes about it. */
const CONTROLS = "button, a, input, textarea, select, label, progress";
const PROPERTIES = (
  "padding margin border border-radius background-color background-image color font-size font-family " +
  "font-weight line-height letter-spacing text-decoration cursor"
).split(" ");
/** The components of a thread, of its cards and of the pages around it. */
const COMPONENTS = (
  "user markdown code table group step panel card artifact composer chips banner error cite-card sources modal " +
  "session session-new chat-head chat-welcome asked field args row"
)
  .split(" ")
  .map((name) => `.ts-${name}`);

/** Noise of the rasterizer, per color channel of 255. */
const NOISE = 8;
/** The largest share of the pixels of a component that may differ. */
const MOST_PIXELS = 0.005;
/** How far a component may move or grow, in CSS pixels. */
const MOST_MOVED = 0.5;

interface Box {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Control {
  readonly name: string;
  /** `property: value` each. */
  readonly values: readonly string[];
}

export interface Look {
  readonly controls: readonly Control[];
  readonly boxes: readonly Box[];
  /** A PNG in base64. */
  readonly picture: string;
}

export async function lookAt(page: Page): Promise<Look> {
  await still(page, 100);
  const seen = await page.evaluate(
    ([controls, properties, components]) => {
      const [controlsInside = [], componentsInside = []] = [controls, components.join(", ")].map((selector) =>
        [...document.querySelectorAll(`.ts-root :is(${selector}), :is(${selector}).ts-root`)].map(
          (element) => ({
            element,
            name: `${element.localName}.${element.classList[0] ?? ""}`,
          }),
        ),
      );
      return {
        controls: controlsInside.map(({ element, name }, n) => {
          const style = getComputedStyle(element);
          const values = properties.map((property) => {
            const value = style.getPropertyValue(property);
            // The style and the color of a border without width are not visible.
            return property === "border" && value.startsWith("0px ") ? "border: 0" : `${property}: ${value}`;
          });
          return { name: `${name} number ${n + 1}`, values };
        }),
        boxes: componentsInside.flatMap(({ element, name }) => {
          const { x, y, width, height } = element.getBoundingClientRect();
          return width < 2 || height < 2 ? [] : [{ name, x, y, width, height }];
        }),
      };
    },
    [CONTROLS, PROPERTIES, COMPONENTS] as const,
  );
  const picture = await page.screenshot({ animations: "disabled" });
  return { ...seen, picture: picture.toString("base64") };
}

/** @param page any page, which decodes the pictures */
export async function compareLooks(page: Page, before: Look, after: Look): Promise<string[]> {
  const differences = before.controls.flatMap(({ name, values }, n) => {
    const other = after.controls[n];
    if (other?.name !== name) return [`${name} became ${other?.name ?? "nothing"}`];
    return values.flatMap((value, at) =>
      value === other.values[at] ? [] : [`${name}: ${value} became ${other.values[at]}`],
    );
  });
  const moved = before.boxes.filter((box, n) => {
    const other = after.boxes[n];
    return (
      other?.name !== box.name ||
      (["x", "y", "width", "height"] as const).some((side) => Math.abs(box[side] - other[side]) > MOST_MOVED)
    );
  });
  differences.push(...moved.map((box) => `${JSON.stringify(box)} moved or changed its size`));
  const shares = await page.evaluate(
    async ([pictures, boxes, noise]) => {
      const [one, two] = await Promise.all(
        pictures.map(async (picture) => {
          const bytes = Uint8Array.from(atob(picture), (char) => char.codePointAt(0) ?? 0);
          const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
          const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
          context?.drawImage(bitmap, 0, 0);
          return context?.getImageData(0, 0, bitmap.width, bitmap.height);
        }),
      );
      if (one === undefined || two === undefined) throw new Error("the pictures can't be decoded");
      const isOther = (at: number): boolean =>
        [0, 1, 2].some(
          (channel) => Math.abs((one.data[at + channel] ?? 0) - (two.data[at + channel] ?? 0)) > noise,
        );
      return boxes.map(({ x, y, width, height }) => {
        const left = Math.max(0, Math.floor(x));
        const top = Math.max(0, Math.floor(y));
        const right = Math.min(one.width, Math.ceil(x + width));
        const bottom = Math.min(one.height, Math.ceil(y + height));
        let others = 0;
        for (let row = top; row < bottom; row++)
          for (let column = left; column < right; column++)
            if (isOther((row * one.width + column) * 4)) others++;
        return others / Math.max(1, (right - left) * (bottom - top));
      });
    },
    [[before.picture, after.picture], before.boxes, NOISE] as const,
  );
  for (const [n, share] of shares.entries())
    if (share >= MOST_PIXELS)
      differences.push(`${before.boxes[n]?.name} differs in ${(share * 100).toFixed(2)} % of its pixels`);
  return differences;
}
