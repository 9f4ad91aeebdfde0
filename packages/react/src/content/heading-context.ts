/** Which level the headings of a piece have, for what draws them. */
import { createContext } from "react";

export const HeadingContext = createContext(3);
