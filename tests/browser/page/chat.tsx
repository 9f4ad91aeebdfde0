/**
 * The page of chat.browser.test.ts and phone.browser.nightly.test.ts: a whole chat on the origin of its gateway, as in
 * docs/react.md. `?agent=` is the agent that answers (empty: the user chooses), and `?accept=` the accepted files.
 */
import { Chat } from "@turnstream/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@turnstream/react/styles.css";

const query = new URLSearchParams(location.search);
const agent = query.get("agent") ?? "long-answer";
const accept = query.get("accept");

const place = document.getElementById("root");
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <Chat
        {...(agent !== "" && { agent })}
        suggestions={["north", "south"]}
        composer={accept === null ? {} : { accept }}
      />
    </StrictMode>,
  );
