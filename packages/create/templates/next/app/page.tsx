/** The page: one chat with the list of the user's sessions. */
import { Chat } from "@turnstream/react";

export default function Page() {
  return <Chat suggestions={["Book a table for two at Luigi's"]} />;
}
