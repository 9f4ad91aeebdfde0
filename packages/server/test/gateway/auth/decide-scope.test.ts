/** Runs the contract of the scope `decide` in memory. */
import { decideScopeContract } from "./decide-scope.contract.ts";

decideScopeContract("memory");
