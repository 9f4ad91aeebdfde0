/** The page of chat.browser.test.ts: a whole chat on the origin of its gateway, as in docs/react.md. */
import { Chat } from "@turnstream/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@turnstream/react/styles.css";

const place = document.getElementById("root");
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <Chat agent="long-answer" suggestions={["north", "south"]} />
    </StrictMode>,
  );
