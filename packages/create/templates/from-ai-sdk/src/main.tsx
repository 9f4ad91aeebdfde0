/** The page: one chat with the list of the user's sessions. */
import { Chat } from "@turnstream/react";
import "@turnstream/react/styles.css";
import { createRoot } from "react-dom/client";

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<Chat suggestions={["How is the weather in Hanoi?"]} />);
