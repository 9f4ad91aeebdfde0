/**
 * The weather in Paris of 001: the main agent asks a sub-agent, which thinks and uses its own tool. Meanwhile the main
 * agent looks up the local time. The citations of 001 are in `paris-citations`. Data only.
 */
import type { Story } from "../story.ts";

const PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA";

export const parisWeather: Story = {
  name: "paris-weather",
  source: "001",
  ask: "What is the weather in Paris?",
  agent: {
    name: "MainAgent",
    model: "model-001",
    tools: { get_local_time: "" },
    agents: {
      ask_for_help: {
        name: "WeatherAgent",
        model: "model-001",
        label: "Answers questions about the weather.",
        tools: { get_weather: "" },
        answers: [
          [
            { think: "The question is about Paris today.\n\nThe tool get_weather has the answer." },
            { call: "get_weather", id: "call_inner", input: { location: "Paris (FR)" } },
          ],
          [{ text: "Paris has a clear sky, and the air is mild for the date." }],
        ],
      },
    },
    answers: [
      [
        { think: "The question is about Paris today.\n\nThe weather agent can find it out." },
        {
          call: "ask_for_help",
          id: "call_1234xyz",
          input: { task: "Find out how the weather in Paris is now." },
        },
        { call: "get_local_time", id: "call_time", input: { location: "Paris (FR)" } },
      ],
      [{ text: "Paris has a clear sky, and the air is mild for the date." }],
    ],
  },
  outcomes: {
    // Ends between the sub-agent's call and its result, so that the two tasks are interleaved.
    call_time: { gives: "12:00", after: "tool_result.start call_inner" },
    call_inner: {
      gives: { temperature: "17C", condition: "clear" },
      shows: {
        text: '{"temperature":"17C","condition":"clear"}',
        pictures: [`${PICTURE}1`, `${PICTURE}2`],
      },
      after: "tool_result.end call_time",
    },
  },
  reloadAt: ["thinking.delta call_1234xyz", "tool_result.end call_time", "text.delta call_1234xyz"],
};
