/** Reports how many event streams are open. Its bundle gets the same server as the one of the API. */
import { createTurnstream } from "@turnstream/next";
import options from "../../agent.ts";

const app = createTurnstream(options);

export async function GET(): Promise<Response> {
  return Response.json((await app.gateway()).stats());
}
