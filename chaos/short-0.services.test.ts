/** The short form of one half of the scenarios. The full runs are commands of their own. */
import { testShort } from "./short.ts";

testShort(0);
