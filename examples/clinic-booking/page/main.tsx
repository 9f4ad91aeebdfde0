/** The entry point of the page. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@turnstream/react/styles.css";
import { App } from "./app.tsx";
import "./page.css";

const place = document.getElementById("root");
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
