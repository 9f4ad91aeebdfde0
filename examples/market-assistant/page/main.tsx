/** The chat page's entry. */
import { createRoot } from "react-dom/client";
import "@turnstream/react/styles.css";

const place = document.getElementById("root");
if (place !== null) createRoot(place).render(<p className="ts-root">Turnstream</p>);
