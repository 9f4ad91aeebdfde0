/** `countBeats` counts the beats of each story. It plays all stories once, in parallel and without pages. */
import { STORIES } from "@turnstream/conformance/stories/index.ts";
import { InProcessDriver } from "../../../packages/server/test/stories/in-process-driver.ts";
import { play } from "../../../packages/server/test/stories/run-story.ts";
import { StoryEnvironment } from "../../../packages/server/test/stories/story-environment.ts";
import { PacedGates } from "./paced-gates.ts";

const TIMEOUT_MS = 90_000;

class PatientDriver extends InProcessDriver {
  readonly timeoutMs = TIMEOUT_MS;
}

export async function countBeats(): Promise<ReadonlyMap<string, number>> {
  const gates = new Map(STORIES.map((story) => [story, new PacedGates()]));
  const environment = await StoryEnvironment.open((story) => gates.get(story) ?? new PacedGates());
  const driver = new PatientDriver(environment.harness, environment.served);
  await Promise.all([...gates].map(([story, own]) => play(environment.harness, story, own, driver)));
  await environment.close();
  return new Map([...gates].map(([{ name }, { beats }]) => [name, beats]));
}
