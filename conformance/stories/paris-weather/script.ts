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
        label: "An agent that provides weather information.",
        tools: { get_weather: "" },
        answers: [
          [
            { think: "Thinking about the weather in Paris.\n\nDecided to call get_weather function." },
            { call: "get_weather", id: "call_inner", input: { location: "Paris, France" } },
          ],
          [{ text: "The weather in Paris is sunny with a temperature of 15C." }],
        ],
      },
    },
    answers: [
      [
        { think: "Thinking about the weather in Paris.\n\nDecided to call ask_for_help function." },
        {
          call: "ask_for_help",
          id: "call_1234xyz",
          input: { task: "Get the current weather in Paris, France." },
        },
        { call: "get_local_time", id: "call_time", input: { location: "Paris, France" } },
      ],
      [{ text: "The weather in Paris is sunny with a temperature of 15C." }],
    ],
  },
  outcomes: {
    // Ends between the sub-agent's call and its result, so that the two tasks are interleaved.
    call_time: { gives: "12:00", after: "tool_result.start call_inner" },
    call_inner: {
      gives: { temperature: "15C", condition: "Sunny" },
      shows: {
        text: '{"temperature":"15C","condition":"Sunny"}',
        pictures: [`${PICTURE}1`, `${PICTURE}2`],
      },
      after: "tool_result.end call_time",
    },
  },
  reloadAt: ["thinking.delta call_1234xyz", "tool_result.end call_time", "text.delta call_1234xyz"],
};
