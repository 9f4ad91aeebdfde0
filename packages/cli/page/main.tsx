/** The page of `turnstream dev`: a whole chat on the origin of its gateway. */
import { Chat } from "@turnstream/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@turnstream/react/styles.css";
import "./page.css";

const place = document.getElementById("root");
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <Chat />
    </StrictMode>,
  );
