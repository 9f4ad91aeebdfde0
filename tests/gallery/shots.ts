/**
 * Takes pictures of every state in both themes: `npm run gallery:shots -- [part of a name] [width]` writes them to
 * `.artefacts/shots/`. `docs-images.ts` takes those in `docs/images`.
 */
import { join } from "node:path";
import { ARTEFACTS, readStates, takePicture, withStage } from "./take-picture.ts";

const [wanted = "", width = "720"] = process.argv.slice(2);
await withStage(async ({ open }) => {
  const page = await open();
  const states = await readStates(page);
  for (const theme of ["light", "dark"] as const)
    for (const state of states.filter((name) => name.includes(wanted))) {
      const file = join(ARTEFACTS, "shots", theme, `${state.replace("/", "-")}.png`);
      await takePicture(page, { file, state, theme, width: Number(width) });
    }
});
console.log("The pictures are in .artefacts/shots.");
