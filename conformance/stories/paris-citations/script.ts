/**
 * 001's weather in Paris with its citations: what the sub-agent's tool found is a reference, with a picture in it; the
 * sub-agent cites it, and so does the main agent, which was handed it on. Data only.
 */
import { parisWeather } from "../paris-weather/script.ts";
import type { Part, Story, StoryAgent } from "../story.ts";

const ANSWER: readonly Part[] = [{ text: "The weather in Paris is sunny with a temperature of 15C.[^1]" }];
const SKY = { temperature: "15C", condition: "Sunny" };

function citing(agent: StoryAgent, name: string, model = agent.model): StoryAgent {
  return { ...agent, name, model, answers: [...agent.answers.slice(0, -1), ANSWER] };
}

const { agent, outcomes } = parisWeather;
const [[tool, helper] = ["", agent]] = Object.entries(agent.agents ?? {});

export const parisCitations: Story = {
  ...parisWeather,
  name: "paris-citations",
  agent: {
    ...citing(agent, "CitingAgent"),
    agents: { [tool]: citing(helper, helper.name) },
  },
  outcomes: {
    ...outcomes,
    call_inner: {
      gives: "",
      references: [
        {
          content: SKY,
          text: JSON.stringify(SKY),
          picture: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA",
        },
      ],
      after: "tool_result.end call_time",
    },
  },
  // The last one when the marker is told and its text is not yet known to be the last.
  reloadAt: ["thinking.delta call_1234xyz", "tool_result.end call_time", "text.delta main"],
};
