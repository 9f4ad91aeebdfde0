/**
 * The weather in Paris of 001, stopped while the sub-agent's tool runs. All is cancelled from the inside out. Data
 * only.
 */
import { parisWeather } from "../paris-weather/script.ts";
import type { Story } from "../story.ts";

export const parisWeatherStopped: Story = {
  ...parisWeather,
  name: "paris-weather-stopped",
  agent: { ...parisWeather.agent, name: "StoppedAgent" },
  outcomes: { ...parisWeather.outcomes, call_inner: { hangs: true } },
  stopAt: "tool_result.end call_time",
  reloadAt: ["thinking.delta call_1234xyz", "tool_result.start call_inner", "tool_result.end call_time"],
};
