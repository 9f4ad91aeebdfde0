/**
 * The weather in Paris of 001 with its citations: the result of the sub-agent's tool is a reference with a picture. The
 * sub-agent cites it, and so does the main agent, which receives the reference from it. Data only.
 */
import { parisWeather } from "../paris-weather/script.ts";
import type { Part, Story, StoryAgent } from "../story.ts";

const ANSWER: readonly Part[] = [{ text: "Paris has a clear sky, and the air is mild for the date.[^1]" }];
const SKY = { temperature: "17C", condition: "clear" };

function citing(agent: StoryAgent, name: string, model = agent.model): StoryAgent {
  return { ...agent, name, model, seesImages: true, answers: [...agent.answers.slice(0, -1), ANSWER] };
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
  // The last moment is when the marker has been sent and the text is not yet known to be the last one.
  reloadAt: ["thinking.delta call_1234xyz", "tool_result.end call_time", "text.delta main"],
};
