/** The gallery page: every component in every state. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Shell } from "./shell/shell.tsx";
import { STATES } from "./states/index.ts";
import "@turnstream/react/styles.css";
import "./shell/shell.css";

const place = document.getElementById("root");
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <Shell states={STATES.map(({ name }) => name)} />
    </StrictMode>,
  );
