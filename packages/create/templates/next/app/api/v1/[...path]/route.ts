/** Serves the API of Turnstream. */
import { createHandlers } from "@turnstream/next";
import { app } from "../../../../turnstream.ts";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = createHandlers(app);
