/** The entry point of the page: the conversations of the user, or the one behind a share link. */
import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@turnstream/react/styles.css";
import { App } from "./app.tsx";
import "./page.css";
import { SharedPage } from "./shared-page.tsx";
import { useShareToken } from "./use-share-token.ts";

function Page(): ReactNode {
  const token = useShareToken();
  return token === null ? <App /> : <SharedPage key={token} token={token} />;
}

const place = document.getElementById("root");
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
